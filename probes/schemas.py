"""What may stand in a target's file, a suite's and the canary's, as JSON Schema for editors?

Made by pydantic from the dataclasses that the files are read into, with what the reading adds: `version: 1`, and names
that are keys.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Literal

from pydantic import TypeAdapter

from probes.model import Target
from probes.suite import SuiteFile
from probes.watch.config import Canary

if TYPE_CHECKING:
    from collections.abc import Callable

DIALECT = "https://json-schema.org/draft/2020-12/schema"
ABOUT = {
    "Target": {
        "name": "What reports call it.",
        "api": "Whose API it speaks.",
        "model": "The model that is asked.",
        "routes": "Ways to it by name; `edge` is the customers' own.",
        "key_env": "The variable that holds the key, never the key itself; null is keyless.",
        "endpoints": "What is tested: chat, responses, models (openai); messages, models (anthropic).",
        "owned": "True where content tests may be run against it.",
        "limits": "Requests at once and per minute, seconds and MiB of one answer.",
        "budget": "Ceilings of one run; null is none.",
        "vantage": "Where the probe stands; shown in reports.",
        "clients": "Whose refusal fails, and whose only warns.",
        "accepted": "Findings that are known and do not count.",
        "slo": "Seconds that users were promised.",
        "output_cap": "The parameter that caps an answer; auto finds it in the run.",
        "reasoning": "off asks for answers without reasoning where the model is known to take that.",
        "prices": "US dollars per million tokens, before those of configs/prices.yaml.",
    },
    "Route": {
        "base_url": "As the SDK takes it: with /v1 for openai.",
        "connect_to": "HOST:PORT that is dialled instead of the URL's own.",
        "proxy": "A forward proxy to go through.",
        "env_proxy": "Whether the environment's proxies count.",
        "headers": "Header → the variable that holds its value.",
        "client_cert": "The variable that holds the path of a PEM certificate.",
        "client_key": "The variable that holds the path of its key, where that is another file.",
        "family": "4 or 6: addresses of this IP family only; null leaves the choice to the client.",
        "http_version": "Clients that speak this version only; null is every client, each with its own.",
    },
    "Acceptance": {
        "code": "A finding code; `edgeprobe explain CODE` says what it means.",
        "reason": "Why it is accepted.",
        "client": "Of this client only.",
        "until": "The last day on which it holds.",
    },
    "Row": {
        "kind": "The question that is asked.",
        "clients": "genuine, all, a name, or a list of names.",
        "with": "Parameters of the question.",
        "seconds": "How long it may go on asking; longer by what limits.deadline of the target is above its default.",
        "route": "A route of the target; default edge.",
    },
    "Canary": {
        "entries": "What is watched.",
        "database": "An SQLAlchemy URL; null is SQLite, edgeprobe.db beside the reports.",
        "listen": "HOST:PORT of /metrics, /healthz and /readyz; null is none.",
        "control": "An address that is not the target's: where it fails too, it is our own network.",
        "dead_man": "Asked at each interval while the canary is well; whoever misses it wakes you.",
        "link": "Put into alerts; {run} is the run's id.",
        "must_fail": "How often it proves on a lab of its own that it finds what is broken; null is never.",
        "settle": "How long after a mark its target is asked once more, to tell what changed; null does not ask after marks.",
        "retention": "Days that runs are kept, and those with a failure.",
        "sinks": "Who hears of alerts.",
        "maintenance": "Changes that are planned: alerts in them say so.",
        "budgets": "Target → ceilings of one day in UTC.",
    },
    "Entry": {
        "name": "Its row in history and metrics.",
        "suite": "A file in suites/.",
        "target": "A file in configs/targets/.",
        "every": "Between two turns; entries are spread over it.",
        "at": "Times of day.",
        "cron": "Minute, hour, day, month, day of the week.",
        "timezone": "Of at and cron.",
        "active": "Hours in which it is due; default always.",
        "tier": "expensive may be sampled; cheap always runs.",
        "sample": "The share of its times that an expensive entry runs.",
        "clients": "As --client of run.",
        "set": "As --set of run.",
        "alert": "Bad results that open an alert; default by what was found.",
    },
    "Active": {
        "days": "mon-fri, or sat,sun; hours over midnight belong to the day on which they begin.",
        "timezone": "Of from and until.",
    },
    "Receiver": {
        "webhook_env": "The variable that holds the address of a webhook of your own.",
        "secret_env": "The variable that holds the key which it is signed with.",
        "notify_env": "The variable that holds an Apprise URL: Slack, PagerDuty, e-mail …",
        "about": "service: customers are hurt; blind: nothing conclusive; probe: the canary itself.",
        "min": "The mildest alert that is told.",
    },
    "Maintenance": {
        "cron": "When it begins, where it recurs.",
        "lasts": "How long, from each time of cron.",
        "targets": "Of these alone; default of all.",
    },
    "DeadMan": {"url": "The address itself, or", "url_env": "the variable that holds it."},
}


def target_schema() -> dict[str, Any]:
    schema = _of(Target, "A target of edgeprobe")
    route = schema["$defs"]["Route"]
    del route["properties"]["name"]
    route["required"].remove("name")
    return schema


def suite_schema() -> dict[str, Any]:
    return _of(SuiteFile, "A suite of edgeprobe")


def canary_schema() -> dict[str, Any]:
    return _of(Canary, "The canary of edgeprobe", mode="serialization")  # its defaults as they are written


SCHEMAS: dict[str, Callable[[], dict[str, Any]]] = {
    "target": target_schema,
    "suite": suite_schema,
    "canary": canary_schema,
}


def text(name: str) -> str:
    """The schema as it is shipped in `configs/schemas/<name>.json`."""
    return json.dumps(SCHEMAS[name](), indent=2, ensure_ascii=False) + "\n"


def _of(
    shape: Any, title: str, mode: Literal["validation", "serialization"] = "validation"
) -> dict[str, Any]:
    schema = TypeAdapter(shape).json_schema(mode=mode)
    for part in (schema, *schema["$defs"].values()):
        if "properties" not in part:  # a list of words
            part.pop("description", None)
            continue
        about = ABOUT.get(part["title"], {})
        part.pop("description", None)  # a docstring is for who reads the code
        part["additionalProperties"] = False
        for key, value in part["properties"].items():
            value.pop("title", None)
            if key in about:
                value["description"] = about[key]
    schema["properties"] = {"version": {"const": 1}, **schema["properties"]}
    schema["required"] = ["version", *schema["required"]]
    return {"$schema": DIALECT, **schema, "title": title}
