"""The page in a browser: it draws, asks nobody, runs nothing of a stranger's, and serves eyes, fingers and screen readers."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from importlib.resources import files

import pytest
from labruns import lab_run
from processes import program
from reporters.hostile import FINE, HARMS, run_of, told
from reporters.test_axes import AT_ONCE, DIED
from reporters.test_html import CUT, PLOTTED, cut_stream, hostile_call
from reporters.test_picture import CALL, STREAM
from reporters.test_story import in_portions
from reporters.test_tracks import events

from probes.model import Skipped
from probes.reporters import html

pytestmark = pytest.mark.real
SCHEMES = ("light", "dark")
OPEN_ALL = "() => document.querySelectorAll('details').forEach((folded) => { folded.open = true })"
SCROLL_ALL = """async () => {
  for (const plot of document.querySelectorAll('.plot')) {
    plot.scrollIntoView();
    await new Promise((done) => requestAnimationFrame(() => setTimeout(done, 30)));
  }
}"""
# How many pixels of each canvas are not blank, and of how many colours.
INK = """() => [...document.querySelectorAll('.plot canvas')].map((canvas) => {
  const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
  const seen = new Set();
  let inked = 0;
  for (let n = 0; n < data.length; n += 4) if (data[n + 3]) {
    inked += 1;
    seen.add(`${data[n]},${data[n + 1]},${data[n + 2]}`);
  }
  return [inked, [...seen].sort().join(' ')];
})"""


@dataclass
class Shown:
    """A page, what it asked for, and what went wrong in it."""

    page: object
    asked: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)

    def everything(self) -> Shown:
        """Opened, and looked at from top to end."""
        self.page.evaluate(OPEN_ALL)
        self.page.evaluate(SCROLL_ALL)
        return self

    def overflow(self) -> int:
        return self.page.evaluate("() => document.documentElement.scrollWidth - innerWidth")


@pytest.fixture(scope="module")
def browser():
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="the dependency group `real` is not installed"
    )
    chromium = program("chromium")
    with playwright.sync_playwright() as driver:
        running = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield running
        running.close()


@pytest.fixture
def show(browser, tmp_path):
    """The page of a run in a window of its own."""
    contexts = []

    def open_page(run, *, width=1100, height=900, scheme="light", fragment="", **more):
        file = tmp_path / "report.html"
        file.write_text(told(html, run), "utf-8")
        context = browser.new_context(
            viewport={"width": width, "height": height}, color_scheme=scheme, reduced_motion="reduce", **more
        )
        contexts.append(context)
        shown = Shown(context.new_page())
        shown.page.on("request", lambda request: shown.asked.append(request.url))
        shown.page.on("console", lambda message: shown.wrong.append(message.text))
        shown.page.on("pageerror", lambda error: shown.wrong.append(str(error)))
        shown.page.on("dialog", lambda dialog: (shown.wrong.append(dialog.message), dialog.dismiss()))
        shown.page.goto(f"{file.as_uri()}{fragment}")
        return shown

    yield open_page
    for context in contexts:
        context.close()


def timed_out():
    """A twin: the stream goes through, the answer in one piece is cut at the edge."""
    return lab_run("long", "read-timer")


def died_together():
    """Streams that were begun one after another and died at one moment."""
    calls = tuple(replace(each.call, exchanges=(each.exchange,)) for each in DIED)
    return run_of(replace(AT_ONCE, evidence=tuple(each.exchange.id for each in DIED)), calls=calls)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_it_draws_and_asks_nobody(show, scheme):
    """Every plot has ink, the console is silent, and the only file that is read is the page."""
    shown = show(timed_out(), scheme=scheme).everything()
    inked = shown.page.evaluate(INK)
    assert len(inked) == shown.page.locator(".plot").count() >= 4
    assert all(pixels > 1000 and colours.count(" ") >= 3 for pixels, colours in inked)
    assert shown.wrong == []
    [asked] = shown.asked
    assert asked.startswith("file:")
    assert asked.endswith("/report.html")


def test_both_sides_of_a_twin_stand_on_one_axis(show):
    """Above each other, as wide, and over the same seconds; in words what one sees."""
    shown = show(timed_out()).everything()
    first, second = shown.page.locator("article .tracks figure").all()
    assert "524 came after" in second.inner_text()
    assert "whole after 19" in first.inner_text()
    boxes = [figure.locator(".u-over").bounding_box() for figure in (first, second)]
    assert boxes[0]["x"] == boxes[1]["x"]
    assert boxes[0]["width"] == boxes[1]["width"]
    assert boxes[0]["y"] + boxes[0]["height"] <= boxes[1]["y"]
    plots = [figure.locator(".plot") for figure in (first, second)]
    assert len({plot.get_attribute("data-span") for plot in plots}) == 1
    assert len({plot.get_attribute("aria-valuemax") for plot in plots}) == 1


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("width", [320, 390, 768])
def test_it_fits_a_phone(show, width, scheme):
    """With everything open nothing stands out to the side, and the plots are as wide as there is room."""
    shown = show(timed_out(), width=width, scheme=scheme).everything()
    assert shown.overflow() <= 0
    for box in (canvas.bounding_box() for canvas in shown.page.locator(".plot canvas").all()):
        assert 0.6 * width < box["width"] <= width


WORD = "x" * 400
LONG = "streams/streaming/cap=256/deadline=600/patience=600/recipe=count"
PAGES = {
    "a word without end": run_of(
        replace(CUT, title=WORD, client=WORD, detail=(("seen", WORD),)),
        calls=(hostile_call(WORD),),
        skipped=(Skipped(WORD, WORD, WORD),),
    ),
    "names as they are": run_of(
        replace(CUT, case=LONG, client="openai-py-aiohttp", next_test=f"again: `edgeprobe run streams --base-url https://{'a' * 60}.example/v1`"),
        replace(FINE, case=LONG, client="vercel-ai-stream"),
        calls=(cut_stream(),),
        skipped=(Skipped(LONG, "openai-1.109.1-isolated", "not installed"),),
    ),
    "many that died": died_together(),
}  # fmt: skip


@pytest.mark.parametrize("javascript", [True, False], ids=["drawn", "without scripts"])
@pytest.mark.parametrize("width", [320, 390, 768, 1100])
@pytest.mark.parametrize("name", PAGES)
def test_nothing_is_to_be_scrolled_sideways(show, name, width, javascript):
    """Whatever its words, on phone, tablet and desk, with everything open."""
    shown = show(PAGES[name], width=width, java_script_enabled=javascript)
    shown.page.evaluate(OPEN_ALL)
    if javascript:
        shown.everything()
    assert shown.overflow() <= 0
    assert shown.page.locator("h1").bounding_box()["width"] > width / 2


# Where a colour of the key begins anew behind blank paper, along a row of each plot near its top; the grid parts nothing.
RUNS = r"""(name) => [...document.querySelectorAll('article .plot canvas')].map((canvas) => {
  const wanted = getComputedStyle(document.querySelector(`.key i.${name}`)).color.match(/\d+/g).map(Number);
  const row = Math.round(canvas.height * 0.12);
  const { data } = canvas.getContext('2d').getImageData(0, row, canvas.width, 1);
  const found = [];
  let inside = false;
  for (let n = 0; n < data.length; n += 4) {
    const is = wanted.every((part, k) => Math.abs(part - data[n + k]) < 3) && data[n + 3] > 250;
    if (is && !inside) found.push(n / 4);
    inside = is || (inside && data[n + 3] > 0);
  }
  return found;
})"""


def plotted_alone(stream, code="stream.buffered"):
    """The page of a finding that was read from one stream."""
    shown = replace(stream, id=STREAM, attribution=replace(stream.attribution, code=code))
    return run_of(replace(CUT, code=code), calls=(replace(CALL, exchanges=(shown,)),))


@pytest.mark.parametrize("width", [390, 1100])
def test_steps_are_seen_between_their_silences(show, width):
    """As many silences as there are pauses, and none across a step."""
    stream = in_portions(apart=(2.65,) * 8)  # where no line of the grid falls on a step
    page = show(plotted_alone(stream), width=width).everything().page
    [silences] = page.evaluate(RUNS, "gaps")
    assert len(silences) == 8


def test_our_own_lag_has_its_own_colour(show):
    """It is no silence of the stream."""
    stream = replace(events("v" * 20), event_times=(*range(1, 11), *range(21, 31)), conditions={"stalls": [(10.1, 20.9)]})  # fmt: skip
    page = show(plotted_alone(stream)).everything().page
    assert [len(runs) for name in ("lag", "gaps") for runs in page.evaluate(RUNS, name)] == [1, 0]


def test_a_whole_answer_is_not_crossed_out(show):
    """One whose end is faulty has a mark of its own, which the key explains."""
    page = show(plotted_alone(events("v" * 20), "stream.no_end")).everything().page
    assert [len(runs) for name in ("flaw", "ends") for runs in page.evaluate(RUNS, name)] == [1, 0]
    assert "! whole, but faulty end" in page.locator("article").inner_text()


def test_one_moment_is_one_line(show):
    """The ends of streams that died together stand below each other."""
    page = show(died_together()).everything().page
    found = page.evaluate(RUNS, "ends")
    assert len(found) == 4
    ends = [runs[-1] for runs in found]
    assert max(ends) - min(ends) <= 1


def test_how_to_read_a_plot_is_one_click_away(show):
    """From the first plot of a finding; what was folded opens."""
    shown = show(timed_out())
    assert not shown.page.locator("#reading p").is_visible()
    shown.page.locator("article a[href='#reading']").first.click()
    assert shown.page.locator("#reading p").is_visible()


def test_it_turns_with_the_phone(show):
    """A plot takes the room that a window has now."""
    shown = show(PLOTTED, width=360, height=800).everything()
    shown.page.set_viewport_size({"width": 800, "height": 360})
    shown.page.wait_for_function("() => document.querySelector('.plot canvas').clientWidth > 500")
    assert shown.overflow() <= 0


def test_it_goes_dark_while_it_is_read(show):
    """Page and plots follow the reader's choice of colours."""
    shown = show(PLOTTED).everything()
    background = "() => getComputedStyle(document.body).backgroundColor"
    light, bright = shown.page.evaluate(INK), shown.page.evaluate(background)
    shown.page.emulate_media(color_scheme="dark")
    shown.page.evaluate(SCROLL_ALL)
    dark = shown.page.evaluate(INK)
    assert shown.page.evaluate(background) != bright
    assert all(was[1] != now[1] for was, now in zip(light, dark, strict=True))


def test_a_plot_is_read_by_keys(show):
    """It can be reached, says where one is, and stops at its ends."""
    shown = show(PLOTTED).everything()
    plot = shown.page.locator("article .plot").first
    plot.focus()
    heard = []
    for key in ("Home", "ArrowRight", "ArrowRight", "End", "ArrowRight"):
        shown.page.keyboard.press(key)
        heard.append(plot.get_attribute("aria-valuetext"))
    assert heard == [
        "0 ms: 0 parts",
        "1.0 s: 1 part",
        "2.0 s: 2 parts",
        "38.0 s: 4 parts",
        "38.0 s: 4 parts",
    ]
    assert shown.page.locator("article .readout").first.inner_text() == "38.0 s: 4 parts"
    assert plot.evaluate("(place) => getComputedStyle(place).outlineStyle") == "solid"


def test_tab_goes_through_the_page(show):
    """Links, calls and plots, none of which holds on to it."""
    shown = show(PLOTTED)
    met = []
    for _ in range(12):
        shown.page.keyboard.press("Tab")
        met.append(
            shown.page.evaluate(
                "() => document.activeElement.localName + (document.activeElement.className && '.plot')"
            )
        )
    assert met[:3] == ["a", "a", "div.plot"]
    assert met.count("summary") >= shown.page.locator("summary:visible").count() > 1


def test_a_link_opens_its_call(show):
    """From a finding, and from an address that names the call."""
    shown = show(PLOTTED)
    shown.page.get_by_role("link", name="call 1").click()
    assert shown.page.locator("details.call").first.evaluate("(folded) => folded.open")
    assert (
        show(PLOTTED, fragment="#c1").page.locator("details.call").first.evaluate("(folded) => folded.open")
    )


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("width", [360, 1100])
def test_it_is_accessible(show, scheme, width):
    """By axe-core's rules, contrast in both schemes among them, with everything open."""
    shown = show(timed_out(), width=width, scheme=scheme).everything()
    shown.page.evaluate(files("axe_playwright_python").joinpath("axe.min.js").read_text("utf-8"))
    found = shown.page.evaluate("() => axe.run()")
    assert [(rule["id"], rule["nodes"][0]["html"][:200]) for rule in found["violations"]] == []
    assert len(found["passes"]) > 15


def test_a_screen_reader_is_told_the_same(show):
    """Sentence, slider with its name and value, and tables with heads."""
    heard = show(PLOTTED).everything().page.locator("main").aria_snapshot()
    assert 'slider "The answer over time, openai-py"' in heard
    assert "34.0 s of silence but for 3 heartbeats" in heard
    assert 'columnheader "longest silence"' in heard
    assert 'rowheader "wait for headers"' in heard


@pytest.mark.parametrize("harm", HARMS.values(), ids=HARMS)
def test_what_a_stranger_wrote_stays_text(show, harm):
    """It runs nothing, asks nobody and says nothing in the console, and the plots are drawn."""
    shown = show(run_of(CUT, calls=(hostile_call(harm),))).everything()
    assert (shown.wrong, len(shown.asked)) == ([], 1)
    assert all(pixels > 1000 for pixels, _ in shown.page.evaluate(INK))
    assert shown.page.locator("img, iframe, object, embed, form, link").count() == 0
    assert shown.page.locator("script").count() == 4


def test_nothing_leaves_even_if_something_ran(show):
    """The policy stops a script that was put in, a picture from elsewhere, a request and a form."""
    shown = show(PLOTTED)
    stopped = shown.page.evaluate("""async () => {
      const stopped = [];
      addEventListener('securitypolicyviolation', (event) => stopped.push(event.effectiveDirective));
      const add = (name, more) => document.body.append(Object.assign(document.createElement(name), more));
      add('script', { textContent: 'window.ran = true' });
      add('img', { src: 'https://evil.example/x.png' });
      await fetch('https://evil.example/').catch(() => 0);
      add('form', { action: 'https://evil.example/' });
      document.querySelector('form').submit();
      for (let turns = 0; stopped.length < 4 && turns < 100; turns++) await new Promise((done) => setTimeout(done, 50));
      return [...stopped, window.ran];
    }""")
    assert sorted(map(str, stopped)) == ["None", "connect-src", "form-action", "img-src", "script-src-elem"]


def test_without_scripts_it_is_whole(show):
    """Sentences, tables and a picture in characters are in the page itself."""
    shown = show(timed_out(), java_script_enabled=False, width=360)
    assert shown.page.locator("article .fallback").first.is_visible()
    assert "█" in shown.page.locator("article .fallback").first.inner_text()
    assert shown.page.locator(".plot").first.bounding_box()["height"] == 0


def test_on_paper(show):
    """Plots of what is open are drawn, in colours for paper, before it goes to the printer."""
    shown = show(PLOTTED, scheme="dark")
    assert len(shown.page.pdf()) > 10_000
    assert shown.page.locator("article .plot canvas").count() == 1
