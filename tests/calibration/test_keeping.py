"""What of the pages that were shown may become a signature, and what must not?"""

from __future__ import annotations

from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
from exchanges import CLOUDFLARE, HTML, exchange

from probes import own_signatures
from probes.attribution import attribute
from probes.calibration.asking import Asked, Shown
from probes.calibration.fit import beside, contradicted
from probes.calibration.judging import Outcome, sort, wanted
from probes.calibration.keeping import Book, keep
from probes.classify import classify
from probes.errors import ConfigError, UsageError
from probes.model import Confidence, Layer
from probes.signatures import catalogue

TODAY = date(2026, 11, 29)
PAGE = "<html><title>Example Corp is closed</title><h1>Nothing to see for you here</h1><p>{}</p></html>"
CLOUDFRONT = "<HTML><HEAD><TITLE>ERROR: The request could not be satisfied</TITLE></HEAD><BODY></BODY></HTML>"


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def answer(status, body, headers=HTML):
    seen = exchange(status, body, {**CLOUDFLARE, **headers})
    return replace(seen, attribution=attribute(seen, catalogue()))


def shown(code, status, body, again=None):
    return Shown(code, "curl's", (answer(status, body), answer(status, again or body)))


def asked(*pages, ordinary=()):
    seen = tuple(answer(status, body) for status, body in ordinary)
    return Asked({"ip": "192.0.2.7", "fl": "1", "colo": "FRA"}, pages, seen, compared=True)


def kept(question):
    """(code, what became of it) of each, and the signatures that were written, by their id."""
    book = Book.of("prod")
    judged, found = sort(question)
    proposals = [beside(book.own, proposal) for proposal in found]
    more, written = keep(book, proposals, question, "api.example.com", TODAY)
    own = own_signatures.read(own_signatures.file_of("prod")).signatures if written else ()
    every = [contradicted(book.own, one) for one in (*judged, *more)]
    return {one.shown.code: (one.outcome, one.why) for one in every}, {one.id: one for one in own}


CODES = {
    500: ("server.error", None),
    502: ("unreachable.origin", None),
    522: ("unreachable.origin", None),
    524: ("timeout.first_byte", None),
    1006: ("blocked.source", None),
    1010: ("blocked.client", None),
    1015: ("ratelimited", None),
    1020: ("blocked", None),
    1033: ("unreachable.origin", None),
}


@pytest.mark.parametrize(("code", "meaning"), CODES.items(), ids=map(str, CODES))
def test_a_code_means_what_the_catalogue_says(code, meaning):
    """Of Cloudflare's own JSON of that code."""
    assert wanted(code).code == meaning[0]


def test_a_page_with_its_code_is_kept_for_that_code():
    """As the catalogue's code, with its advice, at medium confidence."""
    outcomes, own = kept(
        asked(shown(1010, 403, PAGE.format("Error 1010")), shown(1020, 403, PAGE.format("Error 1020")))
    )
    assert outcomes == {1010: (Outcome.OWN, "kept"), 1020: (Outcome.OWN, "kept")}
    row = own["local.prod.1010.html"].row
    assert (row.code, row.vendor_code, row.strength) == ("blocked.client", "1010", "strong")
    assert row.advice == wanted(1010).advice


def test_one_page_for_several_refusals_says_no_more_than_refused():
    """Which of them it was is not told by a page that is the same for both."""
    page = PAGE.format("Come back later")
    _, own = kept(asked(shown(1010, 403, page), shown(1020, 403, page)))
    assert [(one.row.code, one.row.vendor_code, one.row.strength) for one in own.values()] == [
        ("blocked", None, "supporting")
    ]


def test_one_page_for_several_failures_is_the_edges_and_no_more():
    """A custom error rule for all 5xx, under a status of its own."""
    page = PAGE.format("Come back later")
    _, own = kept(asked(shown(522, 503, page), shown(524, 503, page)))
    assert [(one.row.code, one.row.strength) for one in own.values()] == [
        ("unreachable.origin", "supporting")
    ]


def test_a_page_of_its_own_under_cloudflares_own_status_is_kept():
    """522 and 524 show themselves by status and `server`; the page does so where it is pasted without them."""
    pages = {522: PAGE.format("Nobody there"), 524: PAGE.format("Nobody answers")}
    outcomes, own = kept(asked(*(shown(code, code, page) for code, page in pages.items())))
    assert set(outcomes.values()) == {(Outcome.OWN, "kept")}
    assert {name: (one.row.code, one.row.strength) for name, one in own.items()} == {
        "local.prod.522.html": ("unreachable.origin", "strong"),
        "local.prod.524.html": ("timeout.first_byte", "strong"),
    }
    for code, page in pages.items():
        for pasted in (page, f"openai.InternalServerError: {page}"):
            [told] = classify(pasted.encode(), "prod")
            assert told.attribution.signature == f"local.prod.{code}.html"
            assert (told.attribution.layer, told.attribution.confidence) == (Layer.EDGE, Confidence.MEDIUM)
            [strangers] = classify(pasted.encode())
            assert strangers.attribution.layer is Layer.UNKNOWN


def test_one_page_for_522_and_524_is_told_apart_by_status_alone():
    """With its status it is that error; without one, and without headers, nobody can say which."""
    page = PAGE.format("Come back later")
    _, own = kept(asked(shown(522, 522, page), shown(524, 524, page)))
    assert [one.row.code for one in own.values()] == ["unreachable.origin", "timeout.first_byte"]
    [told] = classify(f"HTTP/1.1 524 \r\n\r\n{page}".encode(), "prod")
    assert (told.attribution.code, told.attribution.vendor_code) == ("timeout.first_byte", "524")
    [untold] = classify(page.encode(), "prod")
    assert untold.attribution.layer is Layer.UNKNOWN
    assert "# doubtful: pages of other codes look the same" in own_signatures.file_of("prod").read_text()


def test_one_page_for_refusals_and_the_limit_is_doubtful():
    """A page for all of 1xxx under 403 and 429: the edge's, as it is no 5xx's, and of low confidence."""
    page = PAGE.format("Come back later")
    question = asked(
        shown(522, 522, PAGE.format("Nobody there")), shown(1010, 403, page), shown(1015, 429, page)
    )
    _, own = kept(question)
    assert {name: (one.row.code, one.row.strength) for name, one in own.items()} == {
        "local.prod.522.html": ("unreachable.origin", "strong"),
        "local.prod.1010.html": ("blocked.client", "supporting"),
        "local.prod.1015.html": ("ratelimited", "supporting"),
    }


def test_what_only_a_status_tells_is_known_by_it():
    """An empty 524 has no page to keep."""
    outcomes, own = kept(asked(shown(524, 524, "")))
    assert outcomes[524][0] is Outcome.KNOWN
    assert "known by status and headers alone" in outcomes[524][1]
    assert own == {}


SPA = "<title>Example Corp Portal</title><noscript>You need to enable JavaScript to run this.</noscript>"
STATUSES = {522: 522, 524: 524, 1010: 403, 1020: 403, 1015: 429}


@pytest.mark.parametrize("codes", [(522, 1010), (524, 1015), tuple(STATUSES)], ids=str)
def test_one_page_for_every_code_is_kept_for_none(codes):
    """Each under the status of its error: an application's own page, which says nothing of the code."""
    outcomes, own = kept(asked(*(shown(code, STATUSES[code], SPA) for code in codes)))
    assert own == {}
    assert set(outcomes.values()) == {
        (Outcome.UNUSABLE, "the same page for every code, so it is about none of them")
    }


REFUSED = {
    "the marks of a page of the other class": (
        asked(shown(522, 522, f"{SPA}<h1>Error 522 of Example Corp</h1>"), shown(1010, 403, SPA)),
        "the page of 522 has the same marks",
    ),
    "no page of the other class looks otherwise": (
        asked(shown(522, 404, SPA), shown(1010, 403, SPA)),
        "the page of 522 has the same marks",
    ),
    "an ordinary answer says the same": (
        asked(shown(1010, 403, PAGE.format("Error 1010")), ordinary=[(404, PAGE.format("Error 1010"))]),
        "the same stands in an ordinary answer (404 to",
    ),
    "the same for every code": (
        asked(shown(524, 503, PAGE.format("Sorry")), shown(1010, 503, PAGE.format("Sorry"))),
        "the same page for every code",
    ),
    "one page for a refusal and a limit": (
        asked(shown(1010, 403, PAGE.format("Sorry")), shown(1015, 403, PAGE.format("Sorry"))),
        "which mean different things",
    ),
    "a page with the marks of another code": (
        asked(
            shown(1010, 403, "<title>Example Corp is closed today</title>"),
            shown(1020, 403, "<title>Example Corp is closed today</title><p>Error 1020</p>"),
        ),
        "the page of 1020 has the same marks",
    ),
    "a page that any server may send": (
        asked(shown(1010, 403, CLOUDFRONT)),
        "it says no more than",
    ),
    "too little": (asked(shown(1010, 403, "<h1>Go away</h1>")), "too little to know it by"),
    "another page each time": (
        asked(shown(1010, 403, PAGE.format("one"), "<h1>Something else</h1>")),
        "nothing in it stays the same",
    ),
    "the page of 500 for a code that has none": (
        asked(shown(1010, 500, PAGE.format("Error"))),
        "the page of 500",
    ),
    "no page": (asked(shown(1010, 404, PAGE.format("Error 1010"))), "no error page is shown"),
    "not compared": (
        replace(asked(shown(1010, 403, PAGE.format("Error 1010"))), compared=False),
        "not compared with what the target answers otherwise",
    ),
}


@pytest.mark.parametrize(("question", "why"), REFUSED.values(), ids=REFUSED)
def test_what_could_speak_up_in_the_wrong_place_is_not_kept(question, why):
    """Unknown is the right answer there."""
    outcomes, own = kept(question)
    assert why in outcomes[1010][1]
    assert "local.prod.1010.html" not in own


def test_the_catalogues_proof_is_stronger():
    """A page that carries an exclusive mark of somebody gets no second name."""
    marked = {**HTML, "cf-mitigated": "challenge"}
    page = Shown(1010, "curl's", tuple(answer(403, PAGE.format("Error 1010"), marked) for _ in range(2)))
    outcomes, own = kept(asked(page))
    assert (outcomes[1010][0], own) == (Outcome.OTHER, {})


def test_hostile_pages_become_harmless_yaml():
    """Escapes, quotes, markup and YAML of a stranger stay text, or are left out."""
    hostile = (
        "<title>Nobody \x1b[31mred\x1b[0m</title><h1>version: 2 \u202e # ' \" {{ x }} of Example Corp</h1>"
        "<h2>- id: [evil, !!python/object] & *alias for Example Corp</h2><p>Error 1010</p>"
    )
    _, own = kept(asked(shown(1010, 403, hostile)))
    text = own_signatures.file_of("prod").read_text()
    assert list(own) == ["local.prod.1010.html"]
    assert text.isascii()
    assert "\x1b" not in text
    assert "red" not in text


# --- what is kept already ---------------------------------------------------------------------------------

CLOSED = PAGE.format("Come back later")


def test_a_page_that_is_kept_for_another_error_is_not_its():
    """What was kept says 1010, and the page of 1020 is the same: neither is told by it, and the row is named."""
    kept(asked(shown(1010, 403, CLOSED)))
    before = own_signatures.file_of("prod").read_text()
    outcomes, own = kept(asked(shown(1000, 403, CLOSED)))
    assert outcomes[1000] == (
        Outcome.UNUSABLE,
        "the same page as local.prod.1010.html, which takes it for 1010: mend that row",
    )
    outcomes, own = kept(asked(shown(524, 524, CLOSED)))
    assert outcomes[524][0] is Outcome.UNUSABLE
    assert "local.prod.1010.html, which takes it for 1010" in outcomes[524][1]
    assert own == {}
    assert own_signatures.file_of("prod").read_text() == before


def test_a_row_that_holds_for_the_new_page_too_keeps_it():
    """One for several refusals, without a code of its own."""
    kept(asked(shown(1010, 403, CLOSED), shown(1020, 403, CLOSED)))
    outcomes, _ = kept(asked(shown(1020, 403, CLOSED)))
    assert outcomes[1020] == (Outcome.OWN, "kept already")


def test_the_limits_page_beside_a_kept_refusals_is_doubtful():
    """The same page under 429, in a later calibration."""
    kept(asked(shown(1010, 403, CLOSED)))
    _, own = kept(asked(shown(1015, 429, CLOSED)))
    assert own["local.prod.1015.html"].row.strength == "supporting"


def test_a_row_that_must_not_have_been_kept_is_named():
    """One that takes the page of every code for its own."""
    kept(asked(shown(1010, 403, SPA)))
    outcomes, _ = kept(asked(*(shown(code, status, SPA) for code, status in STATUSES.items())))
    assert "take local.prod.1010.html out of the target's file" in outcomes[1010][1]


# --- the file --------------------------------------------------------------------------------------------

GOOD = """\
version: 1
product: Cloudflare
layer: edge
signatures:
  - id: local.prod.mine
    code: blocked
    strength: strong
    match: {status: [403], body: ["<h1>Closed by Example Corp"]}
    verified: capture
    source: [me]
    samples:
      - {status: 403, origin: capture, source: me, body: "<h1>Closed by Example Corp</h1>"}
"""
MISTAKES = {
    "no such finding code": ("code: blocked", "code: blocekd", "6: signatures[0].code: 'blocekd' is not known; did you mean blocked?"),
    "exclusive": ("strength: strong", "strength: exclusive", "7: signatures[0].strength: is strong at most here"),
    "an id of the catalogue's": ("id: local.prod.mine", "id: cloudflare.1010.json", "5: signatures[0].id: 'cloudflare.1010.json' stands in the catalogue"),
    "a sample that does not match": ('body: "<h1>Closed by Example Corp</h1>"', "body: hello", "12: signatures[0].samples[0]: is not matched by its own signature"),
    "a misspelt key": ("strength:", "strenght:", "signatures[0].strenght: unknown key; did you mean strength?"),
    "a bad regex": ('Closed by Example Corp"]', 'Closed (by Example Corp"]', "signatures[0].match.body[0]: not a regex"),
    "headers alone": ('body: ["<h1>Closed by Example Corp"]', "headers: {server: x}", "signatures[0].match: names nothing in the body"),
}  # fmt: skip


def written(text):
    path = own_signatures.file_of("prod")
    path.parent.mkdir(parents=True)
    path.write_text(text)
    return path


@pytest.mark.parametrize(("old", "new", "says"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_in_the_file_is_told_by_line_and_key(edgeprobe, old, new, says):
    """To a run, a calibration and `validate` alike."""
    assert old in GOOD
    path = written(GOOD.replace(old, new))
    with pytest.raises(ConfigError) as told:
        own_signatures.catalogue_for("prod")
    assert str(told.value).startswith(str(path))
    assert says in str(told.value)
    said = edgeprobe("validate")
    assert said.code == 2
    assert says in said.err


def test_a_good_file_is_counted(edgeprobe):
    """By `validate`."""
    written(GOOD)
    assert "1 signature of a target's own" in edgeprobe("validate").out


def test_a_target_without_a_file_costs_nothing():
    """It gets the catalogue itself."""
    written(GOOD)
    assert own_signatures.catalogue_for("other") is catalogue()
    assert own_signatures.catalogue_for(None) is catalogue()


def test_the_targets_own_come_first_among_equals():
    """Behind proofs, before what is as strong."""
    written(GOOD)
    ids = [(one.row.strength, one.id) for one in own_signatures.catalogue_for("prod").signatures]
    assert next(one for strength, one in ids if strength == "strong") == "local.prod.mine"
    assert ids[0][0] == "exclusive"


def test_a_file_that_nothing_can_be_added_to_is_left_as_it_is():
    """Rows in a form that cannot be gone on with."""
    text = GOOD[: GOOD.index("signatures:")] + "signatures: []\n"
    path = written(text)
    with pytest.raises(UsageError, match="nothing can be added at its end"):
        kept(asked(shown(1010, 403, PAGE.format("Error 1010"))))
    assert path.read_text() == text
    assert [one.name for one in path.parent.iterdir()] == ["prod.yaml"]


def test_a_folder_that_cannot_be_written_to_is_told_before_anything_is_sent():
    """There is a file where the folder has to be."""
    Path("configs").write_text("")
    with pytest.raises(UsageError, match="cannot be written to"):
        Book.of("prod")
