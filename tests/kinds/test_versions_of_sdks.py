"""Is it said from which version on something is wrong, and nothing where that was not seen?"""

import pytest
from canned import NO_EXCHANGE, SENT, case, told

from probes.model import NotSent, Verdict
from probes.sdk_versions import sdk

PYTHON = ("openai==0.28.1", "openai==1.109.1", "openai==2.54.0", "openai==3.57.0")
NODE = ("npm:openai@6.49.0", "npm:openai@7.59.0")
CLIENTS = tuple(map(sdk, reversed(PYTHON + NODE)))


@pytest.fixture(autouse=True)
def _announced(monkeypatch):
    for client in CLIENTS:
        monkeypatch.setitem(SENT, client.name, {"User-Agent": f"{client.package} {client.version}"})


def good(asked):
    return "good stream" if asked.trial.request.stream else "good"


def refuses(*names):
    return lambda asked: "refused" if asked.client in names else good(asked)


BOUNDS = {
    "newer ones": (refuses(*PYTHON[2:]), "openai: first bad 2.54.0, last good 1.109.1"),
    "older ones": (refuses(*PYTHON[:1]), "openai: last bad 0.28.1, first good 1.109.1"),
    "of Node": (refuses(NODE[1]), "npm:openai: first bad 7.59.0, last good 6.49.0"),
    "of both": (
        refuses(PYTHON[3], NODE[1]),
        "openai: first bad 3.57.0, last good 2.54.0; npm:openai: first bad 7.59.0, last good 6.49.0",
    ),
    "one in the middle": (
        refuses(PYTHON[1]),
        "openai==1.109.1 does not get what 5 clients get",
    ),
    "a whole package": (refuses(*NODE), None),
}


@pytest.mark.parametrize(("mind", "title"), BOUNDS.values(), ids=BOUNDS)
def test_where_it_turns(mind, title):
    """First bad and last good of a package, where it turns once; else which versions it is."""
    found, _ = told(case("sdk_versions", CLIENTS), mind)
    [table] = [finding for finding in found if finding.code == "client.versions"]
    if title is not None and "5 clients" not in title:
        assert table.title == title
    else:
        assert "first bad" not in table.title
        assert "do not get what" in table.title or "does not get what" in table.title
    assert table.verdict is Verdict.FAIL
    assert len(table.detail) == len(CLIENTS)


def test_the_table_has_every_version_by_package_and_number():
    """What each got, the oldest first."""
    found, _ = told(case("sdk_versions", CLIENTS), refuses(PYTHON[3]))
    [table] = [finding for finding in found if finding.code == "client.versions"]
    assert table.detail[3:] == (
        ("openai", "3.57.0: completion blocked.client 403, streaming blocked.client 403"),
        ("npm:openai", "6.49.0: completion ok, streaming ok"),
        ("npm:openai", "7.59.0: completion ok, streaming ok"),
    )
    assert (table.observed.k, table.observed.n) == (1, 6)
    assert {finding.kind for finding in found} == {"sdk_versions"}
    assert [f.client for f in found if f.code == "blocked.client"] == [PYTHON[3], PYTHON[3]]


def test_all_is_well():
    """One finding says so of all of them."""
    found, server = told(case("sdk_versions", CLIENTS), good)
    assert {finding.code for finding in found} == {"ok"}
    assert found[0].title == "all 6 versions get what they ask for"
    assert server.sent == 2 * len(CLIENTS)


def test_none_gets_through():
    """Then it is not the version, and no boundary is told."""
    found, _ = told(case("sdk_versions", CLIENTS), lambda _: "refused")
    [table] = [finding for finding in found if finding.code == "client.versions"]
    assert table.title.startswith("no version gets what it asks for")
    assert table.advice.startswith("It is not the version")
    assert table.verdict is not Verdict.PASS


def test_now_and_then_is_no_boundary():
    """A version that fails once and passes again is told with its count, in low confidence."""

    def mind(asked):
        return "refused" if asked.client == PYTHON[3] and asked.repeat == 0 else good(asked)

    found, _ = told(case("sdk_versions", CLIENTS), mind)
    [table] = [finding for finding in found if finding.code == "client.versions"]
    assert "first bad" not in table.title
    assert table.confidence == "low"
    assert "now and then, 1 of 3" in dict(table.detail[3:4])["openai"]


def test_our_own_limit_says_nothing_of_a_version():
    """It is neither bad nor good: no boundary stands on it, and all are not said to be well."""

    def mind(asked):
        return "timeout" if asked.client == PYTHON[1] else good(asked)

    found, _ = told(case("sdk_versions", CLIENTS), mind)
    assert found[0].code == "ok"
    assert found[0].title == "5 versions get what they ask for; not measured: openai==1.109.1"
    assert any(finding.verdict is Verdict.INCONCLUSIVE for finding in found)
    rule = refuses(PYTHON[2], PYTHON[3])
    found, _ = told(case("sdk_versions", CLIENTS), lambda a: "timeout" if a.client == PYTHON[1] else rule(a))
    assert found[0].title == "openai: first bad 2.54.0, last good 0.28.1"


def test_one_that_refuses_to_send():
    """An SDK that raises before it sends is bad as well."""

    def mind(asked):
        return NO_EXCHANGE if asked.client == PYTHON[0] else good(asked)

    found, _ = told(case("sdk_versions", CLIENTS), mind)
    [table] = [finding for finding in found if finding.code == "client.versions"]
    assert table.title == "openai: last bad 0.28.1, first good 1.109.1"
    assert dict(table.detail[:1])["openai"].startswith("0.28.1: completion client.guard")


def test_nothing_asked_is_never_green():
    """Without a budget there is no table, and no version is good."""
    found, _ = told(case("sdk_versions", CLIENTS), lambda _: NotSent.BUDGET)
    assert {finding.code for finding in found} == {"not_measured"}
    assert all(finding.verdict is not Verdict.PASS for finding in found)
