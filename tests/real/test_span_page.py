"""The page of a stretch of time in a browser, from a file and as the canary serves it."""

from __future__ import annotations

import http.client
import io
from dataclasses import replace
from importlib.resources import files

import pytest
from real.test_page import INK, OPEN_ALL, SCHEMES, Shown, browser  # noqa: F401 - a fixture
from reporters.hostile import HARMS
from reporters.spans import ALERT, BAD, GOOD, MARKS, NOTHING, SINCE, STEP, WEEK, hostile, span

from probes.reporters.assets import policy
from probes.reporters.span.page import SCRIPT, report
from probes.sinks.page import Page
from probes.sinks.served import serve

pytestmark = pytest.mark.real
WIDTHS = [320, 390, 768, 1280]
LONG = "a-name-that-has-no-end-" * 12
FULL = span(
    replace(BAD, strips=tuple(replace(strip, client=f"{LONG}{n}") for n in range(3) for strip in BAD.strips)),
    replace(GOOD, target=LONG, vantage=None),
    NOTHING,
    alerts=(replace(ALERT, title=LONG, text=LONG * 3),),
    marks=tuple(replace(MARKS[0], at=SINCE + n * STEP / 3, text=LONG) for n in range(80)),
)


def page_of(shown) -> bytes:
    out = io.StringIO()
    report(shown, out)
    return out.getvalue().encode("utf-8", "replace")


@pytest.fixture
def show(browser, tmp_path):  # noqa: F811 - the fixture
    """A page in a window of its own: from a file, or from an address."""
    contexts = []

    def open_page(shown, *, width=1280, scheme="light", at=None, **more):
        file = tmp_path / "since.html"
        file.write_bytes(page_of(shown))
        context = browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme, reduced_motion="reduce", **more
        )
        contexts.append(context)
        opened = Shown(context.new_page())
        opened.page.on("request", lambda request: opened.asked.append(request.url))
        opened.page.on("console", lambda message: opened.wrong.append(message.text))
        opened.page.on("pageerror", lambda error: opened.wrong.append(str(error)))
        opened.page.on("dialog", lambda dialog: (opened.wrong.append(dialog.message), dialog.dismiss()))
        opened.page.goto(at or file.as_uri())
        return opened

    yield open_page
    for context in contexts:
        context.close()


@pytest.mark.parametrize("scheme", SCHEMES)
def test_it_draws_and_asks_nobody(show, scheme):
    """Every plot has ink of more than one colour, the console is silent, and nothing but the page is read."""
    shown = show(WEEK, scheme=scheme).everything()
    inked = shown.page.evaluate(INK)
    assert len(inked) == shown.page.locator(".plot").count() == 4
    assert all(pixels > 1000 and colours.count(" ") >= 3 for pixels, colours in inked)
    assert (shown.wrong, len(shown.asked)) == ([], 1)


@pytest.mark.parametrize("javascript", [True, False], ids=["drawn", "without scripts"])
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("shown", [WEEK, FULL], ids=["a week", "long names"])
def test_nothing_is_to_be_scrolled_sideways(show, shown, width, javascript):
    """Whatever its words, with everything open."""
    opened = show(shown, width=width, java_script_enabled=javascript)
    opened.page.evaluate(OPEN_ALL)
    if javascript:
        opened.everything()
    assert opened.overflow() <= 0
    strip = opened.page.locator("svg.strip").first.bounding_box()
    assert 0.5 * width < strip["width"] <= width


def test_without_scripts_it_is_whole(show):
    """Strips, sentences and tables are in the page itself."""
    page = show(WEEK, java_script_enabled=False).page
    page.evaluate(OPEN_ALL)
    assert page.locator("svg.strip rect").first.is_visible()
    assert page.locator("table.numbers").first.is_visible()
    assert page.locator(".plot").first.bounding_box()["height"] == 0


def test_a_mark_is_a_line_through_every_plot(show):
    """At its time, in strips and plots alike."""
    page = show(WEEK).everything().page
    line, strip = (page.locator(f"svg.strip{rest}").first.bounding_box() for rest in (" line.mark", ""))
    share = (line["x"] + line["width"] / 2 - strip["x"]) / strip["width"]
    assert share == pytest.approx((MARKS[0].at - SINCE) / (84 * STEP), abs=0.01)
    columns = page.evaluate(
        r"""() => [...document.querySelectorAll('.plot canvas')].map((canvas) => {
          const wanted = getComputedStyle(document.querySelector('i.mark')).color.match(/\d+/g).map(Number);
          const { data, width, height } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
          const is = (x, y) => wanted.every((part, k) => Math.abs(part - data[4 * (y * width + x) + k]) < 40) && data[4 * (y * width + x) + 3] > 100;
          const found = [];
          for (let x = 0; x < width; x += 1) {
            let n = 0;
            for (let y = 0; y < height; y += 1) n += is(x, y);
            if (n > height / 2) found.push(x);
          }
          return found.filter((x, k) => x - (found[k - 1] ?? -9) > 3);
        })"""
    )
    assert [len(found) for found in columns] == [2] * 4
    assert len({tuple(found) for found in columns}) == 1


def test_it_is_read_by_keys_and_all_plots_point_at_one_time(show):
    """With n, and what was not measured said as such."""
    page = show(WEEK).everything().page
    plot = page.locator(".plot").first
    plot.focus()
    page.keyboard.press("Home")
    assert plot.get_attribute("aria-valuetext") == "Nov 23 12:00-14:00 UTC: p50 400 ms, p90 560 ms, n 12"
    for _ in range(7):
        page.keyboard.press("ArrowRight")
    assert plot.get_attribute("aria-valuetext") == "Nov 24 02:00-04:00 UTC: nothing measured"
    page.keyboard.press("End")
    heard = [each.get_attribute("aria-valuetext") for each in page.locator(".plot").all()]
    assert [said.partition(" UTC")[0] for said in heard[:2] + heard[3:]] == ["Nov 30 10:00-12:00"] * 3
    assert heard[2] == "Nov 29 12:00 UTC: cutoff 100.0 s, n 3"


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("width", [390, 1280])
def test_it_is_accessible(show, scheme, width):
    """By axe-core's rules, contrast in both schemes among them, with everything open."""
    shown = show(WEEK, width=width, scheme=scheme).everything()
    shown.page.evaluate(files("axe_playwright_python").joinpath("axe.min.js").read_text("utf-8"))
    found = shown.page.evaluate("() => axe.run()")
    assert [(rule["id"], rule["nodes"][0]["html"][:200]) for rule in found["violations"]] == []
    assert len(found["passes"]) > 15


@pytest.mark.parametrize("harm", HARMS.values(), ids=HARMS)
def test_what_a_stranger_wrote_stays_text(show, harm):
    """It runs nothing, asks nobody and says nothing in the console, and the plots are drawn."""
    shown = show(hostile(harm)).everything()
    assert (shown.wrong, len(shown.asked)) == ([], 1)
    assert all(pixels > 1000 for pixels, _ in shown.page.evaluate(INK))
    assert shown.page.locator("img, iframe, object, embed, form, link, a").count() == 0
    assert shown.page.locator("script").count() == 4


class Silent:
    def text(self) -> bytes:
        return b""


@pytest.fixture
def served():
    page = Page(lambda: page_of(WEEK), policy(plots=True, script=SCRIPT))
    with serve("127.0.0.1:0", Silent(), lambda: None, lambda: None, page) as running:
        yield running


def test_it_is_the_same_page_when_it_is_served(show, served):
    """Under the policy of the header, which it does not break; a frame of another page stays empty."""
    at = f"http://{served.address}/"
    shown = show(WEEK, at=at).everything()
    assert shown.wrong == []
    assert [url for url in shown.asked if not url.endswith("/favicon.ico")] == [at]
    assert all(pixels > 1000 for pixels, _ in shown.page.evaluate(INK))
    framing = show(WEEK, at="about:blank")
    framing.page.set_content(f'<iframe src="{at}"></iframe>')
    framed = framing.page.frames[-1]
    assert (framed.url, at in framing.asked) == ("chrome-error://chromewebdata/", True)
    host, _, port = served.address.rpartition(":")
    connection = http.client.HTTPConnection(host, int(port), timeout=5)
    connection.request("GET", "/")
    assert connection.getresponse().read() == page_of(WEEK)
    connection.close()


def test_nothing_leaves_even_if_something_ran(show, served):
    """The policy stops a script that was put in, a picture from elsewhere and a request."""
    shown = show(WEEK, at=f"http://{served.address}/")
    stopped = shown.page.evaluate("""async () => {
      const stopped = [];
      addEventListener('securitypolicyviolation', (event) => stopped.push(event.effectiveDirective));
      const add = (name, more) => document.body.append(Object.assign(document.createElement(name), more));
      add('script', { textContent: 'window.ran = true' });
      add('img', { src: 'https://evil.example/x.png' });
      await fetch('/metrics').catch(() => 0);
      for (let turns = 0; new Set(stopped).size < 3 && turns < 100; turns++) await new Promise((done) => setTimeout(done, 50));
      return [...new Set(stopped), window.ran];
    }""")
    assert sorted(map(str, stopped)) == ["None", "connect-src", "img-src", "script-src-elem"]


def test_on_paper(show):
    """Plots are drawn, in colours for paper, before it goes to the printer."""
    shown = show(WEEK, scheme="dark")
    assert len(shown.page.pdf()) > 10_000
    assert shown.page.locator(".plot canvas").count() == 4
