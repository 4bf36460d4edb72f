"""A path that is written oddly is taken apart into the forms in which it is."""

from __future__ import annotations

import pytest

from probes.kinds.reproduction.path import (
    CAPITALS,
    END,
    ESCAPES,
    SLASHES,
    VERSIONS,
    WITHOUT_VERSION,
    forms,
    plain_path,
    with_version,
)

CHAT = "/v1/chat/completions"
TOLD = {
    "plain": (CHAT, {}),
    "a query": (f"{CHAT}?a=/b//c/", {}),
    "a slash at the end": (f"{CHAT}/", {END: f"{CHAT}/"}),
    "doubled slashes": ("//v1/chat//completions", {SLASHES: "//v1/chat//completions"}),
    "capitals": ("/V1/Chat/Completions", {CAPITALS: "/V1/Chat/Completions"}),
    "escapes": ("/v1/%63hat/completion%73", {ESCAPES: "/v1/%63hat/completion%73"}),
    "doubled versions": ("/v1/v1/v1/chat/completions", {VERSIONS: "/v1/v1/v1/chat/completions"}),
    "an escaped capital": (
        "/v1/%43hat/completions",
        {CAPITALS: "/v1/Chat/completions", ESCAPES: "/v1/%63hat/completions"},
    ),
    "all at once": (
        "//V1/v1/ch%61t//completions//",
        None,
    ),
    "several": (
        "//proxy/v1//Ch%61t/completions/",
        {
            CAPITALS: "/proxy/v1/Chat/completions",
            ESCAPES: "/proxy/v1/ch%61t/completions",
            SLASHES: "//proxy/v1//chat/completions",
            END: "/proxy/v1/chat/completions/",
        },
    ),
    "an escaped slash": ("/v1%2Fchat/completions", None),
    "a needed escape": ("/openai/my%20dep/chat/completions/", {END: "/openai/my%20dep/chat/completions/"}),
    "a stored answer": ("/v1/responses/resp_Ab/", {END: "/v1/responses/resp_Ab/"}),
    "no API's": ("/Other//Path/", {}),
}


@pytest.mark.parametrize(("told", "wanted"), TOLD.values(), ids=TOLD)
def test_each_form_by_itself(told, wanted):
    """Every form stands on the plain path alone, all make the told one; what isn't made of forms is one thing."""
    path, plain = told.partition("?")[0], plain_path(told)
    found = forms(path, plain)
    if wanted is None:
        assert path != plain
        assert not found
        return
    assert {name: form(plain) for name, form in found.items()} == wanted
    for form in found.values():
        plain = form(plain)
    assert plain == path


def test_without_a_version():
    """`/v1` is put before the endpoint where no version is there, and taken for a form from there."""
    assert with_version("/chat/completions") == CHAT
    assert with_version("/gateway/messages") == "/gateway/v1/messages"
    assert (with_version(CHAT), with_version("/api/v3/chat/completions"), with_version("/other")) == (
        None,
    ) * 3
    found = forms("/chat//completions/", CHAT)
    assert {name: form(CHAT) for name, form in found.items()} == {
        WITHOUT_VERSION: "/chat/completions",
        SLASHES: "/v1/chat//completions",
        END: f"{CHAT}/",
    }
