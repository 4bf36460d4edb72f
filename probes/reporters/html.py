"""A run as one page for a browser or a printer, which loads nothing and runs nothing."""

from __future__ import annotations

import base64
import hashlib
from html import escape
from typing import TYPE_CHECKING, TextIO

from probes.redact import safe_text
from probes.reporters.picture import by_id, picture
from probes.reporters.words import (
    GLYPHS,
    commands,
    folded,
    heading,
    headline,
    rows,
    skips,
    summary,
    tagged,
    told_once,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from probes.model import Finding, Run

_WIDTH = 100
_STYLE = """
:root { color-scheme: light dark; --line: light-dark(#d5d8dc, #3b4148); --soft: light-dark(#586069, #9aa4ae);
  --box: light-dark(#f6f7f8, #1c2126); --fail: light-dark(#b3261e, #ff8a80); --error: light-dark(#8e24aa, #e1a6f2);
  --inconclusive: light-dark(#8a5a00, #f2c14e); --warn: light-dark(#8a5a00, #f2c14e); --pass: light-dark(#1b6e3c, #7fd69b); }
* { box-sizing: border-box; }
body { margin: 2rem auto; padding: 0 1rem; max-width: 60rem; font: 1rem/1.5 system-ui, sans-serif;
  background: light-dark(#fff, #14181c); color: light-dark(#1b1f23, #e6e9ec); overflow-wrap: anywhere; }
h1 { font-size: 1.5rem; line-height: 1.25; margin: 0 0 .5rem; }
h2 { font-size: 1.1rem; line-height: 1.35; margin: 0; }
p { margin: .25rem 0; }
.soft, dt, th { color: var(--soft); }
.fail { color: var(--fail); } .error { color: var(--error); } .inconclusive { color: var(--inconclusive); }
.warn { color: var(--warn); } .pass { color: var(--pass); } .skipped { color: var(--soft); }
b { font-weight: 600; white-space: nowrap; }
table { border-collapse: collapse; width: 100%; margin: 1.25rem 0; font-size: .9rem; }
th, td { text-align: left; vertical-align: top; padding: .35rem .75rem .35rem 0; border-bottom: 1px solid var(--line); }
th { font-weight: 500; }
article { border: 1px solid var(--line); border-radius: .4rem; padding: .9rem 1rem; margin: 1rem 0; }
dl { display: grid; grid-template-columns: 6.5rem 1fr; gap: .3rem .75rem; margin: .6rem 0 0; }
dd { margin: 0; white-space: pre-line; }
pre { margin: 0; padding: .6rem .75rem; background: var(--box); border-radius: .3rem; overflow-x: auto;
  font: .8rem/1.45 ui-monospace, monospace; white-space: pre-wrap; }
.wide { white-space: pre; }
a { color: inherit; }
@media (max-width: 40rem) { dl { grid-template-columns: 1fr; gap: 0; } dd { margin-bottom: .5rem; }
  thead { display: none; } tr { display: block; padding: .4rem 0; border-bottom: 1px solid var(--line); }
  td { display: inline; border: 0; padding: 0 .6rem 0 0; } }
@media print { :root { color-scheme: light; } body { margin: 0; max-width: none; font-size: 10pt; }
  pre { border: 1px solid var(--line); } h2, dt { break-after: avoid; } tr, pre { break-inside: avoid; }
  a { text-decoration: none; } }
"""
_STYLE_HASH = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
_POLICY = f"default-src 'none'; style-src 'sha256-{_STYLE_HASH}'; base-uri 'none'; form-action 'none'"


def report(run: Run, out: TextIO) -> None:
    findings = told_once(run.findings)
    out.writelines(f"{line}\n" for line in (*_head(run), *_about(run), *_table(run, findings)))
    exchanges = by_id(run)
    for number, finding in enumerate(findings, 1):
        drawn = picture(finding, exchanges, _WIDTH, ascii_only=False)
        out.writelines(f"{line}\n" for line in _article(finding, number, drawn))
    out.writelines(f"{line}\n" for line in (*_origin(run), "</main>", "</body>", "</html>"))


def _text(text: str) -> str:
    return escape(safe_text(text))


def _lines(text: str) -> str:
    """A line end in a row stays one."""
    return "\n".join(map(_text, text.split("\n")))


def _head(run: Run) -> Iterator[str]:
    yield "<!doctype html>"
    yield '<html lang="en">'
    yield "<head>"
    yield '<meta charset="utf-8">'
    yield f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield '<meta name="referrer" content="no-referrer">'
    yield f"<title>edgeprobe {_text(headline(run))}</title>"
    yield f"<style>{_STYLE}</style>"
    yield "</head>"
    yield "<body>"
    yield "<main>"


def _about(run: Run) -> Iterator[str]:
    yield f'<h1><span class="{run.verdict}">{GLYPHS[run.verdict]}</span> {_text(headline(run))}</h1>'
    for line in (summary(run), *heading(run)):
        yield f'<p class="soft">{_text(line)}</p>'


def _table(run: Run, findings: Sequence[Finding]) -> Iterator[str]:
    yield "<table>"
    yield "<thead><tr><th>verdict</th><th>case</th><th>client</th><th>finding</th></tr></thead>"
    yield "<tbody>"
    for number, finding in enumerate(findings, 1):
        title = f'<a href="#f{number}">{_text(finding.title)}</a>'
        yield f"<tr><td>{_verdict(finding)}</td>{_where(finding.case, finding.client)}<td>{title}</td></tr>"
    for case, client, reason in skips(run.skipped):
        where = _where(case, client)
        yield f'<tr><td><b class="skipped">○ skipped</b></td>{where}<td>{_text(reason)}</td></tr>'
    yield "</tbody>"
    yield "</table>"


def _where(case: str, client: str | None) -> str:
    return f"<td>{_text(case)}</td><td>{_text(client or '')}</td>"


def _verdict(finding: Finding) -> str:
    accepted = " (accepted)" if finding.accepted else ""
    return f'<b class="{finding.verdict}">{GLYPHS[finding.verdict]} {finding.verdict}{accepted}</b>'


def _article(finding: Finding, number: int, drawn: Sequence[str]) -> Iterator[str]:
    places = (finding.case, finding.client or "", f"route {finding.route}" if finding.route else "")
    yield f'<article id="f{number}">'
    yield f"<h2>{_verdict(finding)} {_text(finding.title)}</h2>"
    yield f'<p class="soft">{_text(tagged(finding))} · {_text(" · ".join(filter(None, places)))}</p>'
    yield "<dl>"
    for label, text in rows(finding):
        yield f"<dt>{_text(label)}</dt><dd>{_lines(text)}</dd>"
        if label == "seen" and drawn:
            yield f'<dt>picture</dt><dd><pre class="wide">{_lines(chr(10).join(drawn))}</pre></dd>'
    for label, command, note in commands(finding):
        folds = "\n".join(map(_text, folded(safe_text(command), _WIDTH)))
        yield f"<dt>{label}</dt><dd><pre>{folds}</pre>{f'({note})' if note else ''}</dd>"
    yield "</dl>"
    yield "</article>"


def _origin(run: Run) -> Iterator[str]:
    """What the page was made of."""
    yield f'<p class="soft">run {_text(run.id)} · {run.started:%Y-%m-%d %H:%M:%S} UTC · seed {run.seed}</p>'
    versions = ", ".join(f"{name} {version}" for name, version in run.versions.items())
    yield f'<p class="soft">{_text(versions)}</p>'
