"""`edgeprobe repro`: from a pasted complaint to a word, an exit code and a stored run."""

from __future__ import annotations

import base64
import json
import zipfile

import pytest
from labruns import refused_port

from probes.clients.curl import Sender

KEY = "sk-Abcdefghijklmnop0123456789"
TENANT = "acme-corporation"
BODY = '{"model":"lab-model","messages":[{"role":"user","content":"Hi."}],"max_tokens":4}'
AGENT = "OpenAI/Python 1.40.0"
REFUSED = "HTTP/1.1 403 Forbidden\nServer: cloudflare\nContent-Type: text/plain\n\nerror code: 1010\n"


def as_curl(url, agent=AGENT):
    return (
        f"Hello, since today we get 403:\n\n$ curl -s {url}/chat/completions -A '{agent}' \\\n"
        f"    -H 'Authorization: Bearer {KEY}' -H 'X-Tenant: {TENANT}' \\\n    -H 'Content-Type: application/json' -d '{BODY}'\n"
    )


def as_request(url, agent=AGENT):
    host = url.split("/")[2]
    return (
        f"POST /v1/chat/completions HTTP/1.1\nHost: {host}\nUser-Agent: {agent}\nAuthorization: Bearer {KEY}\n"
        f"X-Tenant: {TENANT}\nContent-Type: application/json\n\n{BODY}\n"
    )


def as_har(url, agent=AGENT):
    rows = {
        "User-Agent": agent,
        "Authorization": f"Bearer {KEY}",
        "X-Tenant": TENANT,
        "Content-Type": "application/json",
    }
    request = {
        "method": "POST", "url": f"{url}/chat/completions", "httpVersion": "HTTP/1.1", "postData": {"text": BODY},
        "headers": [{"name": name, "value": value} for name, value in rows.items()],
    }  # fmt: skip
    response = {"status": 403, "headers": [], "content": {"text": "error code: 1010"}}
    return json.dumps({"log": {"entries": [{"request": request, "response": response}]}})


def as_sdk_call(url, agent=AGENT):
    return json.dumps({
        "client": "curl", "base_url": url, "method": "chat.completions.create", "api_key": KEY, "arguments": json.loads(BODY),
        "headers": {"User-Agent": agent, "X-Tenant": TENANT},
    })  # fmt: skip


FORMS = {"curl": as_curl, "request": as_request, "har": as_har, "sdk-call": as_sdk_call}


@pytest.fixture
def ask(edgeprobe, at_lab, tmp_path):
    """The command on a text, in the lab's time."""

    def call(text, *words, flag=None):
        path = tmp_path / "complaint.txt"
        path.write_text(text)
        named = [f"--{flag}", str(path)] if flag else [str(path)]
        return edgeprobe("repro", *named, "--time-scale", at_lab[-1], *words)

    return call


def last(said):
    return said.out.splitlines()[-1]


def told_somewhere(folder, *texts):
    """Whether one of them stands in what was stored, in any member of a bundle, too."""
    held = []
    for path in folder.rglob("*"):
        held.append(path.read_bytes())
        if path.suffix == ".zip":
            with zipfile.ZipFile(path) as archive:
                held += [archive.read(name) for name in archive.namelist()]
    assert held
    spelt = [form for text in texts for form in (text.encode(), base64.b64encode(text.encode())[:-4])]
    return [form for form in spelt if any(form in data for data in held)]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("flagged", [True, False], ids=["by its flag", "by its look"])
def test_each_form_is_reproduced(ask, served, reports, form, flagged):
    """A request that is refused here, too, ends in REPRODUCED and 1; its key and what nobody knows are stored nowhere."""
    served.arm(["ai-crawler-rule"])
    said = ask(FORMS[form](served.base_url), flag=form if flagged else None)
    assert said.code == 1, said.err
    assert last(said).startswith("REPRODUCED")
    assert "Cloudflare 1010" in said.out
    for secret in (KEY, TENANT):
        assert secret not in said.out + said.err
    assert told_somewhere(reports, KEY, TENANT) == []
    assert "look     at its request.json before you pass the bundle on" in said.out


def test_what_passes_here_is_not_reproduced(ask, served):
    """A request that is answered well ends in 0, and says so."""
    said = ask(as_curl(served.base_url))
    assert (said.code, last(said).startswith("NOT REPRODUCED")) == (0, True)
    assert f"theirs curl of a version that was not told, ours curl {Sender.version()}" in " ".join(
        said.out.split()
    )


def test_no_answer_is_cannot(ask):
    """Where nobody answers, nothing is reproduced: 3."""
    with refused_port() as port:
        said = ask(as_curl(f"http://127.0.0.1:{port}/v1"))
    assert (said.code, last(said).startswith("CANNOT")) == (3, True)


def test_an_error_alone_is_classified(ask, reports):
    """A text with an error and no request is told, with what is missing; nothing is sent."""
    said = ask(REFUSED)
    assert said.code == 3
    assert "Cloudflare 1010" in said.out
    assert last(said).startswith(
        "CANNOT: it holds an error, and not the request that met it; say --curl FILE"
    )
    assert not reports.exists()


def test_the_answer_beside_the_request_is_seen(ask, served):
    """What came with the request stands before the run's own words."""
    said = ask(f"{as_curl(served.base_url)}\n{REFUSED}")
    assert "seen     403 Cloudflare 1010" in said.out


def test_the_request_that_was_understood_is_said_first(ask, served):
    """What will be asked, what was left out, and where the secrets are."""
    said = ask(as_curl(served.base_url).replace("curl -s", "curl -sk"))
    assert max(map(len, said.out.splitlines()[:8])) <= 80
    shown = " ".join(said.out.split())
    assert (
        f"asks POST {served.base_url}/chat/completions, 5 headers, {len(BODY)} bytes, as curl sends it"
        in shown
    )
    assert "note -k is left out" in shown
    assert "secrets TOLD_KEY, TOLD_X_TENANT: taken out" in shown
    assert "and --key-env TOLD_KEY --secret TOLD_X_TENANT=TOLD_X_TENANT" in shown


def test_json_has_standard_output_for_itself(ask, served):
    """With --json - all that people read goes to standard error."""
    said = ask(as_curl(served.base_url), "--json", "-")
    assert json.loads(said.out)["suites"] == ["repro"]
    assert said.err.splitlines()[-1].startswith("NOT REPRODUCED")


def test_a_stored_reproduction_is_judged_again(ask, served, reports, edgeprobe):
    """What was told is stored with the run, and today's signatures find the same in it."""
    served.arm(["ai-crawler-rule"])
    ask(as_curl(served.base_url))
    [run] = [path.stem for path in reports.glob("*.json")]
    again = edgeprobe("report", run, "--rejudge")
    assert (again.code, "nothing changed" in again.out) == (1, True)
    assert "REPRODUCED" in again.out
    assert "Cloudflare 1010" in again.out


# --- a bundle, asked again -------------------------------------------------------------------------------

SINCE = {
    "still": (["ai-crawler-rule"], 1, "STILL"),
    "fixed": ([], 0, "FIXED"),
    "changed": (["nginx-ua-rule"], 1, "CHANGED"),
}


def test_secrets_of_any_place_and_length_are_told_apart(ask, served, reports, edgeprobe, monkeypatch, at_lab):
    """What stood in a query or a body is stored nowhere, however short, and its bundle can be asked again."""
    reports.mkdir()
    served.arm(["ai-crawler-rule"])
    short = {"TOLD_QUERY": "q7Zx2Lp", "TOLD_BODY": "b8Wy3Mn", "TOLD_REFERER": "r9Vu4Kj"}
    text = as_curl(served.base_url).replace(
        "/chat/completions", f"/chat/completions?token={short['TOLD_QUERY']}&n=1"
    )
    text = text.replace(BODY, f'{BODY[:-1]},"user":"me","metadata":{{"password":"{short["TOLD_BODY"]}"}}}}')
    text = text.replace("-H 'X-Tenant", f"-e 'https://a.example/?sid={short['TOLD_REFERER']}' -H 'X-Tenant")
    said = ask(text, "--bundle", str(reports / "failed.zip"), "--json", str(reports / "said.json"))
    assert said.code == 1, said.err
    assert told_somewhere(reports, KEY, TENANT, *short.values()) == []
    for name, value in {**short, "TOLD_KEY": KEY, "TOLD_X_TENANT": TENANT}.items():
        monkeypatch.setenv(name, value)
    asked = ["repro", str(reports / "failed.zip"), "--time-scale", at_lab[-1], "--no-store"]
    flags = edgeprobe(*asked).err.partition(" and add ")[2].partition(";")[0].split()
    again = edgeprobe(*asked, *flags)
    assert (again.code, last(again).split()[0]) == (1, "STILL"), again.out + again.err


@pytest.mark.parametrize("name", SINCE)
def test_a_bundle_is_asked_again(ask, served, reports, edgeprobe, monkeypatch, at_lab, name):
    """The bundle of a failure says whether it is still there, gone, or another one now."""
    faults, code, word = SINCE[name]
    served.arm(["ai-crawler-rule"])
    ask(as_curl(served.base_url), "--no-store", "--bundle", str(reports.parent / "failed.zip"))
    monkeypatch.setenv("MINE", "sk-another-key-0123456789")
    monkeypatch.setenv("WHO", TENANT)
    served.arm(faults)
    asked = ["repro", str(reports.parent / "failed.zip"), "--time-scale", at_lab[-1], "--no-store"]
    said = edgeprobe(*asked, "--key-env", "MINE", "--header", "X-Tenant=WHO")
    assert (said.code, last(said).split()[0].rstrip(":")) == (code, word), said.out + said.err


def test_a_bundle_gets_no_variable_that_nobody_named(ask, served, reports, edgeprobe, monkeypatch, at_lab):
    """A stranger's bundle that names a variable of this machine has nothing of it."""
    served.arm(["ai-crawler-rule"])
    ask(as_curl(served.base_url), "--no-store", "--bundle", str(reports.parent / "failed.zip"))
    monkeypatch.setenv("TOLD_KEY", "sk-mine-0123456789abcdef")
    monkeypatch.setenv("TOLD_X_TENANT", "mine")
    before = served.edge.server
    asked = ["repro", str(reports.parent / "failed.zip"), "--time-scale", at_lab[-1], "--no-store"]
    said = edgeprobe(*asked)
    flags = "--key-env TOLD_KEY --secret TOLD_X_TENANT=TOLD_X_TENANT"
    assert (said.code, f"add {flags}" in said.err) == (2, True)
    assert served.edge.server is before
    again = edgeprobe(*asked, *flags.split())
    assert (again.code, last(again).split()[0]) == (1, "STILL"), again.out + again.err


# --- mistakes --------------------------------------------------------------------------------------------

WRONG = {
    "neither request nor error": ("hello", (), "holds neither a request nor an error"),
    "an option that curl has not": ("curl --haeder x https://h.example/v1", (), "complaint.txt: line 1: curl has no option"),
    "a key that nobody told": ('curl https://h.example/v1 -H "Authorization: Bearer $K"', (), "that h.example may have, and add --key-env VAR"),
    "a variable that nobody told": ("curl 'https://h.example/v1' -d \"$B\"", (), "add --secret B=VAR"),
    "more requests than it may ask": ("curl https://h.example/v1", ("--max-requests", "501"), "--max-requests: 501 is above 500"),
    "both": ("curl https://h.example/v1", ("--key-env", "A", "--no-key"), "--key-env and --no-key exclude each other"),
    "a target and flags": ("curl https://h.example/v1", ("--target", "x", "--owned"), "--target and --owned exclude each other"),
    "nothing to choose from": (REFUSED, ("--entry", "2"), "--entry: there is nothing to choose from"),
    "no such one": ("curl https://h.example/v1", ("--entry", "2"), "--entry 2"),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_a_mistake_is_said(ask, name):
    """What is wrong with the text or the flags, before anything is sent."""
    text, words, wanted = WRONG[name]
    said = ask(text, *words)
    assert said.code == 2
    assert wanted in said.err


def test_two_complaints_are_one_too_many(edgeprobe):
    """One call takes one complaint."""
    said = edgeprobe("repro", "a.txt", "--curl", "b.txt")
    assert (said.code, "repro: takes one complaint" in said.err) == (2, True)
    assert edgeprobe("repro").code == 2


def test_a_file_that_is_not_there(edgeprobe):
    """A file that cannot be read is named."""
    said = edgeprobe("repro", "--har", "missing.har")
    assert (said.code, "missing.har: cannot be read" in said.err) == (2, True)


# --- a target's file -------------------------------------------------------------------------------------


@pytest.fixture
def prod(served, tmp_path, monkeypatch):
    """A target of one's own, at the lab."""
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "configs" / "targets"
    folder.mkdir(parents=True)
    (folder / "prod.yaml").write_text(
        f"version: 1\nname: prod\napi: openai\nmodel: lab-model\nkey_env: PROD_KEY\nowned: true\n"
        f"routes:\n  edge: {{base_url: {served.base_url}}}\n"
    )
    monkeypatch.setenv("PROD_KEY", "sk-production-0123456789")


@pytest.mark.usefixtures("prod")
def test_a_named_target_is_asked_with_its_own_key(ask, served):
    """The key of the target's file stands in for the customer's, and the note says so."""
    said = ask(as_curl(served.base_url), "--target", "prod")
    assert said.code == 0, said.err
    assert "note     asked with the key in PROD_KEY, not with the one in what was given" in said.out
    assert "sk-production" not in said.out


@pytest.mark.usefixtures("prod")
def test_a_request_to_another_host_is_not_the_targets(ask):
    """A request that goes elsewhere is refused, with the hosts that the target has."""
    said = ask(as_curl("https://elsewhere.example/v1"), "--target", "prod")
    assert said.code == 2
    assert "it goes to elsewhere.example, which is none of target prod's hosts (127.0.0.1:" in said.err


def test_another_base_url_asks_elsewhere(ask, served):
    """`--base-url` moves the request to another host, and says so."""
    said = ask(as_curl("https://api.example.com/v1"), "--base-url", served.base_url)
    assert said.code == 0, said.err
    assert "and not of api.example.com" in said.out
