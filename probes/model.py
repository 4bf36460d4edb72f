"""What are the nouns of a probe run?

Frozen dataclasses and enums, standard library only. Seconds are floats of real-world time (see ``Clock``),
times of day are aware UTC datetimes, ``None`` means "not known" and is never written as 0.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from enum import StrEnum
from random import Random
from typing import Any, ClassVar, Literal

STRICT: dict[str, Any] = {"extra": "forbid"}
"""For classes that files are read into: an unknown key is refused."""

Headers = Mapping[str, Sequence[str]]
"""Lower-case name → values in wire order. Lists, because joining repeated headers breaks value matching."""


class Layer(StrEnum):
    CLIENT = "client"
    PROXY = "proxy"
    DNS = "dns"
    NETWORK = "network"
    TLS = "tls"
    EDGE = "edge"
    GATEWAY = "gateway"
    ORIGIN = "origin"
    PROBE = "probe"
    UNKNOWN = "unknown"


class Verdict(StrEnum):
    PASS = "pass"  # noqa: S105 - a verdict, not a password
    WARN = "warn"
    INCONCLUSIVE = "inconclusive"
    ERROR = "error"
    FAIL = "fail"


class Confidence(StrEnum):
    HIGH = "high"
    MEDIUM = "medium"
    LOW = "low"


class WhoActs(StrEnum):
    CUSTOMER = "customer"
    OPERATOR = "operator"
    EDGE = "edge"
    PROVIDER = "provider"
    NETWORK = "network"
    PROBE = "probe"


class Factor(StrEnum):
    CLIENT = "client"
    USER_AGENT = "user_agent"
    SDK_HEADERS = "sdk_headers"
    ACCEPT = "accept"
    ACCEPT_ENCODING = "accept_encoding"
    TLS = "tls"
    HTTP_VERSION = "http_version"
    BODY = "body"
    SIZE = "size"
    STREAM = "stream"
    LENGTH = "length"
    ROUTE = "route"
    FAMILY = "family"
    CONNECTION = "connection"
    PREFIX = "prefix"
    KEY = "key"


class NotSent(StrEnum):
    """Why a planned trial has no exchange; the flow that asked for it ends inconclusive with the same word."""

    BUDGET = "budget"
    PAUSED = "paused"
    UNAVAILABLE = "unavailable"
    NOT_OWNED = "not_owned"
    INTERRUPTED = "interrupted"
    NOT_RECORDED = "not_recorded"


class Reason(StrEnum):
    """Why a finding is inconclusive."""

    BUDGET = "budget"
    PAUSED = "paused"
    UNAVAILABLE = "unavailable"
    NOT_OWNED = "not_owned"
    INTERRUPTED = "interrupted"
    NOT_RECORDED = "not_recorded"
    BLOCKED = "blocked"
    TAINTED = "tainted"
    MIXED = "mixed"
    STOPPED_EARLY = "stopped_early"
    DRIFT = "drift"
    TOO_FEW = "too_few"


# --- what is asked of whom -------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class EnvRef:
    """A value that lives in an environment variable, named here and never stored."""

    __pydantic_config__: ClassVar = STRICT

    env: str


@dataclass(frozen=True, slots=True)
class Route:
    """A way to reach the target; `connect_to` is the address dialled instead of the URL's own.

    `client_cert`, `client_key`: variables that hold the paths of PEM files; the key may stand in the certificate's.
    `family`, `http_version`: the only one that is used; `None` leaves it to the client.
    """

    __pydantic_config__: ClassVar = STRICT

    name: str
    base_url: str
    connect_to: str | None = None
    proxy: str | None = None
    env_proxy: bool = True
    headers: Mapping[str, EnvRef] = field(default_factory=dict)
    client_cert: EnvRef | None = None
    client_key: EnvRef | None = None
    family: Literal[4, 6] | None = None
    http_version: Literal["1.1", "2"] | None = None


@dataclass(frozen=True, slots=True)
class Limits:
    """`deadline` in seconds per request, `body_mib` of decoded response body, `per_minute` requests."""

    __pydantic_config__: ClassVar = STRICT

    concurrency: int = 4
    per_minute: int | None = None
    deadline: float = 10.0
    body_mib: float = 32.0


@dataclass(frozen=True, slots=True)
class Budget:
    """Ceilings of one run; `None` means unlimited."""

    __pydantic_config__: ClassVar = STRICT

    requests: int | None = 300
    tokens: int | None = 200_000
    usd: float | None = None


@dataclass(frozen=True, slots=True)
class Prices:
    """US dollars per million tokens; `cached` is of a prompt token that comes from the cache."""

    __pydantic_config__: ClassVar = STRICT

    input: float
    output: float
    cached: float | None = None


@dataclass(frozen=True, slots=True)
class Slo:
    """Seconds that users were promised: to the first token, and for each one after it."""

    __pydantic_config__: ClassVar = STRICT

    ttft: float | None = None
    tpot: float | None = None


@dataclass(frozen=True, slots=True)
class Refusals:
    """Clients by what their refusal means. `must_pass: None` takes the default, see `refusals.must_pass`."""

    __pydantic_config__: ClassVar = STRICT

    must_pass: tuple[str, ...] | None = None
    may_fail: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Acceptance:
    """A finding that the operator knows of and lives with, up to and with the day `until`. Without `client` it is
    whichever client's.
    """

    __pydantic_config__: ClassVar = STRICT

    code: str
    reason: str
    client: str | None = None
    until: date | None = None


OutputCap = Literal["max_tokens", "max_completion_tokens"]
"""The parameter that caps an answer of the endpoint `chat`."""


@dataclass(frozen=True, slots=True)
class Target:
    """The API under test. `key_env` names the variable that holds the key; `None` means keyless.

    `output_cap: auto` is found in the run. `reasoning: off` asks for answers without reasoning where the model is
    known to take that. `prices: None` takes those of `configs/prices.yaml`, where it has the model.
    """

    __pydantic_config__: ClassVar = STRICT

    name: str
    api: Literal["openai", "anthropic"]
    model: str
    routes: Mapping[str, Route]
    key_env: str | None = None
    endpoints: tuple[str, ...] = ()
    owned: bool = False
    limits: Limits = Limits()
    budget: Budget = Budget()
    vantage: str | None = None
    clients: Refusals = Refusals()
    accepted: tuple[Acceptance, ...] = ()
    slo: Slo = Slo()
    output_cap: Literal["auto", "max_tokens", "max_completion_tokens"] = "auto"
    reasoning: Literal["off"] | None = None
    prices: Prices | None = None


@dataclass(frozen=True, slots=True)
class Client:
    """A way to send, as declared; the sender itself is `clients/<kind>.py`, and `mode` says which of its ways.

    `genuine`: the customer's own software untouched, else only its headers are imitated: then `headers` are its names
    and values in wire order and case, and `source` says where they were seen.
    `edits`: it can send an `Ask` with single headers replaced or dropped below the SDK. `control`: it may be what
    others are measured against. `apart`: neither of `all` nor of `genuine`, asked only where it is named.
    `package`: of an SDK that is installed for it in `version`, which may be the newest of a line (`1.*`).
    """

    name: str
    kind: str
    api: Literal["openai", "anthropic"] | None = None
    genuine: bool = True
    edits: bool = False
    version: str | None = None
    mode: Literal["sync", "async", "aiohttp", "h2"] = "sync"
    headers: tuple[tuple[str, str], ...] = ()
    source: str | None = None
    control: bool = True
    apart: bool = False
    package: str | None = None


Recipe = Literal["hello", "count", "ponder", "script", "tool", "invalid"]


Arm = Literal["cold", "primed", "broken", "moved"]
"""What was made of a prompt cache before a request: it can't know the prompt · the same bytes were sent before · but for a
line at the front · but for one at the end.
"""


@dataclass(frozen=True, slots=True)
class Ask:
    """One API request in the words of its dialect; the client builds the bytes.

    `recipe`: `hello` (a short answer), `count` (an answer that goes on until `cap`), `ponder` (one that has to be thought
    about), `script` (characters of many bytes each), `tool` (a call of a tool), `invalid` (refused by type before
    inference: `messages` is a string). `prompt_tokens`: about so many of
    neutral text stand before the question, other ones for each salt. `effort`: of reasoning; `endless`: no end before
    the cap, where the engine knows that; neither is sent again once the server has refused it. `key`: the target's, or made up in the dialect's shape.
    `filler`: bytes of neutral text that make an invalid request large; the trial's salt says which.
    `edits`: header → new value, or `None` to drop it, applied below the client to the finished request.
    `cap_name`: set by the driver to what the server takes, as is `usage`: whether a stream is asked for its usage.
    `given`: the JSON of a body that somebody told; it is sent instead of the recipe's, through an SDK as its call's
    arguments.
    `kept`: a response is made in the background and stored, so that its stream can be fetched by its id; `fetches`: the id
    of the one whose stream is fetched, by GET.
    `arm`: of an experiment with the prompt cache: its prompts are marked to be cached where an API wants that said;
    `line` stands in front of a broken one and behind a moved one. `cache_key`: for replicas to be chosen by.
    `model`: another than the target's. `gzipped`: the body goes compressed, as some gateways and middlewares of
    customers send it; through clients that build the request themselves.
    """

    endpoint: str
    recipe: Recipe = "hello"
    stream: bool = False
    cap: int = 16
    filler: int = 0
    prompt_tokens: int = 0
    effort: Literal["high"] | None = None
    endless: bool = False
    key: Literal["target", "made_up"] = "target"
    edits: Mapping[str, str | None] = field(default_factory=dict)
    cap_name: OutputCap = "max_tokens"
    model: str | None = None
    gzipped: bool = False
    usage: bool = True
    kept: bool = False
    fetches: str | None = None
    given: Mapping[str, Any] | None = None
    arm: Arm | None = None
    line: str = ""
    cache_key: str | None = None


@dataclass(frozen=True, slots=True)
class Raw:
    """One HTTP request to the byte. `path` is appended to the route's base URL, or with `rooted` to its host.

    `key`: whose key is added, in the dialect's own header, with the headers of the route; `None` adds nothing.
    `secrets`: the variables whose values are filled in for `{env:NAME}` in path, headers and body, on the wire only.
    `shows`: an error page is asked for, to be looked at; this is the status that it comes with.
    """

    method: str
    path: str
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    rooted: bool = False
    key: Literal["target", "made_up"] | None = None
    shows: int | None = None
    secrets: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Dial:
    """A connection without a request to every address that the host has in one family, with TLS where it is https.

    Its call has an exchange for each address, and none where the family has no address.
    """

    family: Literal[4, 6]


Request = Ask | Raw | Dial


@dataclass(frozen=True, slots=True)
class Trial:
    """One planned call. `label` is unique in the case and stable; a label asked for again is its next repeat.

    `session`: `None` is a fresh connection, a name is one client object and pool. `start`: seconds into the step.
    `deadline`: seconds, `None` takes the target's. `salt`: makes the prompt unique. `pair`: trials of one step
    with the same name are bought together or not at all. `retries`: an SDK is left its own, as its customers have it;
    `deadline` is then for all of its attempts together, the pauses that it makes between them not counted.
    """

    label: str
    client: str
    route: str
    request: Request
    session: str | None = None
    start: float = 0.0
    deadline: float | None = None
    salt: str = ""
    pair: str | None = None
    retries: bool = False


@dataclass(frozen=True, slots=True)
class Case:
    """One row of a suite. `id` = `suite/kind[/key=value…]`, the key of history."""

    id: str
    suite: str
    kind: str
    target: Target
    clients: tuple[Client, ...]
    route: str
    params: Mapping[str, Any]
    seed: int
    keyed: bool = False
    """A key is configured and set, or the target is keyless: requests with `key="target"` can be sent."""
    seconds: float | None = None
    """That it may spend on asking, by its suite; `None` is as long as it takes."""
    time_scale: float = 1.0
    """Of its run, for the commands that its findings name."""

    @property
    def rng(self) -> Random:
        """The case's randomness from its start, the same in every process: take it once."""
        return Random(f"{self.seed}/{self.id}")  # noqa: S311 - not for secrets

    def client(self, name: str) -> Client:
        return {client.name: client for client in self.clients}[name]


# --- what was seen ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Timeline:
    """Seconds from the start of the exchange. `first_byte` is the first byte of the body on the wire;
    `first_token` is of any channel (reasoning counts), `first_content` is visible text. `end` is when the client
    was done with the response, or gave up.
    """

    dns: float | None = None
    connect: float | None = None
    tls: float | None = None
    upload_start: float | None = None
    upload_end: float | None = None
    headers: float | None = None
    first_byte: float | None = None
    first_event: float | None = None
    first_token: float | None = None
    first_content: float | None = None
    last_token: float | None = None
    last_byte: float | None = None
    end: float | None = None


@dataclass(frozen=True, slots=True)
class WireRequest:
    """The request as sent: names, case and order of `headers` are those of the wire; without a `method` nothing was
    asked, a connection was opened.
    """

    method: str
    url: str
    headers: tuple[tuple[str, str], ...]
    body_bytes: int
    body_digest: str | None
    stream: bool | None


@dataclass(frozen=True, slots=True)
class WireError:
    """How the transport ended, when not by a complete response.

    `kind`: `dns · connect · tls · reset · closed · timeout · lost · deadline · limit · interrupted · protocol · oversize ·
    proxy`; `oversize` is a response whose headers are more than the client takes;
    `phase`: `dns · connect · tls · upload · headers · body`.
    """

    kind: str
    phase: str
    text: str

    @property
    def ours(self) -> bool:
        """The probe ended it: at a bound of its own, or because its run was over."""
        return self.kind in {"deadline", "limit", "interrupted"}


@dataclass(frozen=True, slots=True)
class Attribution:
    """Who made the response. `code` is a finding code (`ok` for a good answer); `transit` the products passed
    through, outermost first; `extracted` what the signature read (ray, colo, retry_after …); `advice` what to change
    where in that product.
    """

    layer: Layer
    code: str
    product: str | None = None
    vendor_code: str | None = None
    signature: str | None = None
    confidence: Confidence = Confidence.LOW
    runner_up: str | None = None
    transit: tuple[str, ...] = ()
    next_test: str | None = None
    who_acts: WhoActs | None = None
    retryable: bool | None = None
    extracted: Mapping[str, str] = field(default_factory=dict)
    advice: str | None = None


BODY_HEAD, BODY_TAIL = 64 * 1024, 16 * 1024
"""Bytes of a body that are kept, as `wire.content` does."""


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request and one response on the wire; never raises, never absent.

    `body_head` (64 KiB) and `body_tail` (the last 16 KiB beyond it) are decoded content; `body_bytes` is the
    decoded length as received, whatever became of the kept part since. `facts` are those of `wire.facts`, `chunks` the count of body chunks and `chunk_times` /
    `chunk_sizes` their columns (capped; `facts` says so). `event_times` is when each event of a stream was there whole,
    heartbeats too, and `event_kinds` a letter of `wire.facts` for each of them (capped alike).
    """

    id: str
    request: WireRequest
    status: int | None
    headers: Headers
    body_head: bytes
    body_tail: bytes
    body_bytes: int
    body_digest: str | None
    body_encoding: str | None
    timeline: Timeline
    facts: Mapping[str, Any]
    chunks: int = 0
    chunk_times: tuple[float, ...] = ()
    chunk_sizes: tuple[int, ...] = ()
    event_times: tuple[float, ...] = ()
    event_kinds: str = ""
    error: WireError | None = None
    conditions: Mapping[str, Any] = field(default_factory=dict)
    attribution: Attribution | None = None

    @property
    def elided(self) -> bool:
        """The middle of the body was not kept: by its length, since taking out a secret makes what was kept shorter."""
        return self.body_bytes > BODY_HEAD + BODY_TAIL

    def header(self, name: str) -> str | None:
        """First value of a response header; `name` in lower case."""
        values = self.headers.get(name)
        return values[0] if values else None


@dataclass(frozen=True, slots=True)
class Raised:
    type: str
    text: str

    @property
    def ours(self) -> bool:
        """The probe ended the call, also between two attempts; see `clients.observed`."""
        return self.type in {"probes.Ended", "asyncio.CancelledError"}


@dataclass(frozen=True, slots=True)
class Call:
    """What came of one trial. Zero exchanges without `not_sent`: the client refused to send.

    `returned` describes what the caller got (type, text head), `raised` what it met instead. `own_lag`: seconds
    between the planned and the real start. `started`: when that was, by this machine's calendar; `None` of what was not
    sent, and in runs that did not keep it.
    """

    id: str
    case: str
    trial: Trial
    repeat: int
    exchanges: tuple[Exchange, ...] = ()
    returned: str | None = None
    raised: Raised | None = None
    not_sent: NotSent | None = None
    conditions: Mapping[str, Any] = field(default_factory=dict)
    own_lag: float | None = None
    started: datetime | None = None

    @property
    def last(self) -> Exchange | None:
        return self.exchanges[-1] if self.exchanges else None

    @property
    def ended_by_probe(self) -> str | None:
        """By its `deadline`, by a `limit`, or `interrupted` with its run; whatever the client made of that."""
        error = self.last.error if self.last is not None else None
        if error is not None and error.ours:
            return error.kind
        if self.raised is None or not self.raised.ours:
            return None
        return "deadline" if self.raised.text.endswith("deadline") else "interrupted"

    def cut_short(self, patience: float) -> bool:
        """The probe ended it sooner than a customer who waits for `patience` seconds: a good answer may have been on its
        way, so it says nothing of the service.
        """
        why, held = self.ended_by_probe, self.conditions.get("deadline")
        if why == "deadline":
            return isinstance(held, int | float) and held < patience
        return why is not None


def call_id(case: Case, label: str, repeat: int) -> str:
    return f"{case.id}:{label}#{repeat}"


def unsent(
    case: Case,
    trial: Trial,
    repeat: int,
    why: NotSent,
    because: str | None = None,
    affords: int | None = None,
) -> Call:
    """The call of a trial that was not sent; `because` says it closer, for people, `affords` which output cap what is
    left of the budget would have borne.
    """
    return Call(
        id=call_id(case, trial.label, repeat),
        case=case.id,
        trial=trial,
        repeat=repeat,
        not_sent=why,
        conditions={
            **({"because": because} if because else {}),
            **({} if affords is None else {"affords": affords}),
        },
    )


# --- what is concluded -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Figure:
    """A measured quantity; `n` samples, `low`/`high` bound its uncertainty. `spread` of the samples: what their quartiles
    lie apart. `conditions`: under which all of them were taken; those of its finding, too, hold for it.
    """

    value: float
    unit: str
    n: int
    low: float | None = None
    high: float | None = None
    spread: float | None = None
    conditions: Mapping[str, Any] = field(default_factory=dict, hash=False)


@dataclass(frozen=True, slots=True)
class Observed:
    """`k` failures of `n`."""

    k: int
    n: int


@dataclass(frozen=True, slots=True)
class Reproduce:
    """A command that shows the same; `verified` only when it was run in this run and showed it."""

    command: str
    verified: bool = False


@dataclass(frozen=True, slots=True)
class Finding:
    """One conclusion of a case. `title` and `advice` come from `configs/findings.yaml` unless the flow says more.

    `detail`: (word, sentence) rows for people, in order: `seen`, `because`, `so`, `matches`, `cliff` …
    """

    code: str
    verdict: Verdict
    case: str
    kind: str
    layer: Layer = Layer.UNKNOWN
    product: str | None = None
    vendor_code: str | None = None
    client: str | None = None
    route: str | None = None
    factor: Factor | None = None
    observed: Observed | None = None
    control: str | None = None
    variant: str | None = None
    confounders: tuple[str, ...] = ()
    title: str = ""
    detail: tuple[tuple[str, str], ...] = ()
    figures: Mapping[str, Figure] = field(default_factory=dict)
    conditions: Mapping[str, Any] = field(default_factory=dict)
    confidence: Confidence | None = None
    reason: Reason | None = None
    next_test: str | None = None
    who_acts: WhoActs | None = None
    retryable: bool | None = None
    advice: str = ""
    accepted: bool = False
    evidence: tuple[str, ...] = ()
    reproduce: Reproduce | None = None


@dataclass(frozen=True, slots=True)
class Skipped:
    case: str
    client: str | None
    reason: str


@dataclass(frozen=True, slots=True)
class Spend:
    """What a run bought, settled by usage; a request without usage keeps its worst case."""

    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    usd: float | None = None


@dataclass(frozen=True, slots=True)
class Run:
    id: str
    suites: tuple[str, ...]
    target: Target
    vantage: str | None
    started: datetime
    finished: datetime
    versions: Mapping[str, str]
    seed: int
    time_scale: float
    verdict: Verdict
    spend: Spend
    cases: tuple[Case, ...]
    calls: tuple[Call, ...]
    findings: tuple[Finding, ...]
    skipped: tuple[Skipped, ...] = ()
    config_digest: str | None = None


# --- flows and events ------------------------------------------------------------------------------------

Flow = Generator[Sequence[Trial], list[Call], list[Finding]]
Kind = Callable[[Case], Flow]
Planned = tuple[Trial, int]
"""A trial and which repeat of its label it is."""
Send = Callable[[Sequence[Planned]], list[Call]]
"""Every planned trial gets its call, in the order asked."""


@dataclass(frozen=True, slots=True)
class Began:
    """`run`: what is known before anything is sent; without calls and findings, and `inconclusive`."""

    run: Run


@dataclass(frozen=True, slots=True)
class Started:
    case: Case


@dataclass(frozen=True, slots=True)
class Called:
    call: Call


@dataclass(frozen=True, slots=True)
class Found:
    finding: Finding


@dataclass(frozen=True, slots=True)
class Finished:
    run: Run


Event = Began | Started | Called | Found | Finished
Sink = Callable[[Event], None]
