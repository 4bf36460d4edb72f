"""Which secrets a told request is asked with."""

from __future__ import annotations

import pytest

from probes.complaint import Told
from probes.errors import UsageError
from probes.imports.taken import Taken
from probes.repro.keys import Named, keyed

URL = "https://api.example.com/v1/chat/completions"
KEY = "sk-Abcdefghijklmnop0123456789"


def told(variable="TOLD_KEY", *, form="curl", headers=None, **more):
    pairs = (("Authorization", f"Bearer {{env:{variable}}}"),) if headers is None else headers
    secrets = more.pop("secrets", (variable,) if headers is None else ())
    return Told("POST", more.pop("url", URL), pairs, more.pop("body", b"{}"), form, secrets=secrets, **more)


def taken(*values):
    found = Taken()
    for value in values:
        found.take(value, "KEY")
    return found


# What was told, what was taken out of it, what the operator names, which variables are set; then the key's header and the
# variable of the key.
ROWS = {
    "the pasted key": (told(), (KEY,), Named(None, False, {}), {}, "Bearer {env:TOLD_KEY}", "TOLD_KEY"),
    "the operator's key instead of the pasted one": (
        told(), (KEY,), Named("MINE", False, {}), {"MINE": "x"}, "Bearer {env:MINE}", "MINE"),
    "the pasted key, where the operator's is not set": (
        told(), (KEY,), Named("MINE", False, {}), {}, "Bearer {env:TOLD_KEY}", "TOLD_KEY"),
    "the operator's key for a placeholder": (told(), (), Named("MINE", False, {}), {"MINE": "x"}, "Bearer {env:MINE}", "MINE"),
    "the operator's key for the customer's variable": (
        told("OPENAI_API_KEY"), (), Named("MINE", False, {}), {"MINE": "x", "OPENAI_API_KEY": "y"}, "Bearer {env:MINE}", "MINE"),
    "the customer's variable, named by the operator": (
        told("OPENAI_API_KEY"), (), Named("OPENAI_API_KEY", False, {}), {"OPENAI_API_KEY": "y"},
        "Bearer {env:OPENAI_API_KEY}", "OPENAI_API_KEY"),
    "no key": (told(), (), Named(None, True, {}), {}, "Bearer EMPTY", None),
    "no key of ours, the pasted one": (told(), (KEY,), Named(None, True, {}), {}, "Bearer {env:TOLD_KEY}", "TOLD_KEY"),
    "by --header": (told(), (), Named(None, False, {"authorization": "MINE"}), {"MINE": "x"}, "{env:MINE}", "MINE"),
    "put back into a HAR file": (
        told(form="har", headers=()), (), Named("MINE", False, {}), {"MINE": "x"}, "Bearer {env:MINE}", "MINE"),
}  # fmt: skip


@pytest.mark.parametrize("name", ROWS)
def test_the_key_that_a_request_is_asked_with(name):
    """The key is the pasted one, or one that the operator names."""
    said, values, named, environ, header, key_env = ROWS[name]
    found = keyed(said, taken(*values), named, environ)
    assert {n.lower(): v for n, v in found.told.headers}["authorization"] == header
    assert found.key_env == key_env
    assert found.told.secrets == ((key_env,) if key_env else ())


def test_a_request_that_was_sent_without_a_key_stays_so():
    """A curl line without a key is asked without one; only beside it the operator's is used."""
    found = keyed(told(headers=(("Accept", "*/*"),)), taken(), Named("MINE", False, {}), {"MINE": "x"})
    assert found.told.headers == (("Accept", "*/*"),)
    assert (found.told.secrets, found.key_env) == ((), "MINE")


AWS = "AWS_SECRET_ACCESS_KEY"
REF = f"{{env:{AWS}}}"
MANY = ("TOLD_COOKIE_A", "TOLD_COOKIE_B", "TOLD_QUERY", "TOLD_BODY")
STRANGE = {
    "the key": (told(AWS), {}, f"{AWS} (its key). Set a variable for each that api.example.com may have, and add --key-env VAR;"),
    "a header": (told(headers=(("X-A", REF),), secrets=(AWS,)), {}, f"{AWS} (header X-A)"),
    "the body": (told(headers=(), body=REF.encode(), secrets=(AWS,)), {}, f"{AWS} (body)"),
    "the URL": (told(headers=(), url=f"{URL}?q={REF}", secrets=(AWS,)), {}, f"and add --secret {AWS}=VAR"),
    "what was named for a header, in the body": (
        told(headers=(("X-A", "{env:A}"),), body=REF.encode(), secrets=("A", AWS)), {"headers": {"X-A": AWS}}, f"{AWS} (body)"),
    "what was named for a header that it has not": (
        told(headers=(), body=REF.encode(), secrets=(AWS,)), {"headers": {"X-A": AWS}}, f"{AWS} (body)"),
    "what was named for the key, in the body": (
        told(body=REF.encode(), secrets=("TOLD_KEY", AWS)), {"key_env": AWS}, f"{AWS} (body)"),
    "what was named for another secret": (
        told(headers=(), body=f"{REF}{{env:B}}".encode(), secrets=("B", AWS)), {"secrets": {"B": AWS}}, f"{AWS} (body)"),
    "all at once": (
        told(url=f"{URL}?q={{env:TOLD_QUERY}}", body=b"{env:TOLD_BODY}{env:PIN}",
             headers=(("Authorization", "Bearer {env:TOLD_KEY}"), ("Cookie", "a={env:TOLD_COOKIE_A}; b={env:TOLD_COOKIE_B}")),
             secrets=("TOLD_KEY", *MANY, "PIN")), {},
        f"add --key-env TOLD_KEY {' '.join(f'--secret {name}={name}' for name in MANY)} --secret PIN=VAR; --no-key instead of --key-env"),
    "a secret that it has not": (
        told(secrets=("TOLD_KEY",)), {"secrets": {"TOLD_KYE": "A"}}, "--secret TOLD_KYE: it has no such secret; did you mean TOLD_KEY?"),
    "variables that are not set": (
        told(body=b"{env:TOLD_BODY}", secrets=("TOLD_KEY", "TOLD_BODY")),
        {"key_env": "MINE", "secrets": {"TOLD_BODY": "PW"}}, "not set: MINE, PW; the request needs them"),
}  # fmt: skip


@pytest.mark.parametrize("name", STRANGE)
def test_no_variable_is_sent_that_nobody_named(name):
    """A stranger's text that names a variable of this machine is refused, set or not, with all that has to be said."""
    said, flags, wanted = STRANGE[name]
    with pytest.raises(UsageError) as refused:
        keyed(said, taken(), Named(**{"key_env": None, "no_key": False, "headers": {}, **flags}), {AWS: "x"})
    assert wanted in str(refused.value)


def test_a_secret_of_any_place_can_be_told():
    """`--secret` names the variable of one in a header, a URL or a body, and of the key, all at once."""
    said = told(
        url=f"{URL}?q={{env:TOLD_QUERY}}", body=b"{env:TOLD_BODY}",
        headers=(("Authorization", "Bearer {env:TOLD_KEY}"), ("Cookie", "a={env:TOLD_COOKIE_A}; b={env:TOLD_COOKIE_B}")),
        secrets=("TOLD_KEY", *MANY),
    )  # fmt: skip
    own = {
        "TOLD_KEY": "K",
        "TOLD_COOKIE_A": "TOLD_COOKIE_B",
        "TOLD_COOKIE_B": "TOLD_COOKIE_A",
        "TOLD_QUERY": "Q",
        "TOLD_BODY": "Q",
    }
    found = keyed(said, taken(), Named(None, False, {}, own), dict.fromkeys(own.values(), "x"))
    assert found.told.headers == (
        ("Authorization", "Bearer {env:K}"), ("Cookie", "a={env:TOLD_COOKIE_B}; b={env:TOLD_COOKIE_A}"))  # fmt: skip
    assert (found.told.url, found.told.body) == (f"{URL}?q={{env:Q}}", b"{env:Q}")
    assert (found.told.secrets, found.key_env) == (("K", "TOLD_COOKIE_B", "TOLD_COOKIE_A", "Q"), "K")


def test_what_only_looks_like_a_reference_stays_as_it_is():
    """`{env:…}` in a prompt is text, where the request does not name the variable."""
    body = b'{"messages":"{env:HOME}"}'
    found = keyed(told(headers=(), body=body), taken(), Named(None, False, {}), {"HOME": "/root"})
    assert (found.told.body, found.told.secrets) == (body, ())
