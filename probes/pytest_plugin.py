"""How does pytest run a suite?

Every pytest where edgeprobe is installed imports this at its start, so whatever it needs is imported when it is used.
"""

from __future__ import annotations

import os
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from probes.conduct import Order
    from probes.model import Finding, Run
    from probes.pytest_door import Door

_OPTIONS = ("target", "base_url", "api", "model", "key_env", "no_key")
_PROPERTY = "edgeprobe"
"""Holds the verdict of a case, also in pytest's own reports."""


class EdgeprobeWarning(pytest.PytestWarning):
    """A case passed, with a finding that its operator should know."""


class CaseFailed(Exception):  # noqa: N818 - a test failed; nothing of ours did
    def __init__(self, run: Run) -> None:
        super().__init__(run.verdict)
        self.run = run


# --- what pytest asks ------------------------------------------------------------------------------------


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("edgeprobe", "edgeprobe: suites (YAML) as tests, one for each case")
    add = group.addoption
    add("--edgeprobe-target", metavar="NAME", help="the target whose suites are collected; or by flags:")
    add("--edgeprobe-base-url", metavar="URL", help="as the SDK takes it: …/v1 for OpenAI")
    add("--edgeprobe-api", metavar="API", help="openai or anthropic")
    add("--edgeprobe-model", metavar="M", help="the model that is asked")
    add("--edgeprobe-key-env", metavar="VAR", help="variable that holds the key")
    add("--edgeprobe-no-key", action="store_true", help="the server takes requests without a key")
    add(
        "--edgeprobe-allow-inconclusive",
        action="store_true",
        help="an inconclusive case is skipped instead of failed, where another one measured something",
    )


def pytest_configure(config: pytest.Config) -> None:
    if _asked(config) and not hasattr(config, "workerinput"):
        config.pluginmanager.register(_Proof(), "edgeprobe-proof")


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> SuiteFile | None:
    """A suite that was named, or lies in a named folder `suites`; other YAML is not ours."""
    if file_path.suffix not in {".yaml", ".yml"} or not _asked(parent.config):
        return None
    folder, session = file_path.parent, parent.session
    named = session.isinitpath(file_path) or (folder.name == "suites" and session.isinitpath(folder))
    return SuiteFile.from_parent(parent, path=file_path) if named else None


@pytest.fixture(scope="session")
def edgeprobe(pytestconfig: pytest.Config) -> Callable[..., Run]:
    """`edgeprobe("smoke", base_url=…, api=…, model=…)` → the Run; without a target that of the command line."""
    return _door(pytestconfig).run


def _asked(config: pytest.Config) -> bool:
    return any(config.getoption(f"edgeprobe_{name}") is not None for name in ("target", "base_url"))


def _door(config: pytest.Config) -> Door:
    from probes.pytest_door import Door

    if _DOOR not in config.stash:
        options = {name: config.getoption(f"edgeprobe_{name}") or None for name in _OPTIONS}
        worker = getattr(config, "workerinput", {})  # pytest-xdist's
        config.stash[_DOOR] = Door(options, int(worker.get("workercount", 1)))
    return config.stash[_DOOR]


_DOOR: pytest.StashKey[Door] = pytest.StashKey()


# --- suites as tests -------------------------------------------------------------------------------------


class SuiteFile(pytest.File):
    def collect(self) -> Iterator[pytest.Item]:
        from probes.conduct import Order, plan
        from probes.credentials import Secrets
        from probes.errors import UsageError

        try:
            order = Order((str(self.path),), _door(self.config).target({}))
            planned = plan(order, Secrets())
        except UsageError as mistake:
            raise self.CollectError(f"edgeprobe: {mistake}") from None
        for case in planned.cases:
            item = CaseItem.from_parent(self, name=_name(case.id))
            item.order = replace(order, cases=(case.id,))
            yield item
        for skipped in planned.skipped:
            client = f"[{skipped.client}]" if skipped.client else ""
            left_out = SkippedItem.from_parent(self, name=f"{_name(skipped.case)}{client}")
            left_out.reason = skipped.reason
            yield left_out


def _name(case_id: str) -> str:
    """Without the suite, which is the file."""
    return case_id.partition("/")[2]


class CaseItem(pytest.Item):
    order: Order

    def runtest(self) -> None:
        from probes.model import Verdict
        from probes.reporters.words import worst_first

        run = _door(self.config).conduct(self.order)
        self.user_properties.append((_PROPERTY, str(run.verdict)))
        for finding in run.findings:
            if finding.verdict is Verdict.WARN and not finding.accepted:
                self.warn(EdgeprobeWarning(_line(finding)))
        unproven = run.verdict in {Verdict.ERROR, Verdict.INCONCLUSIVE}
        worst = worst_first(run.findings)[0]
        if unproven and self.config.getoption("edgeprobe_allow_inconclusive"):
            pytest.skip(f"{run.verdict}, by --edgeprobe-allow-inconclusive: {_line(worst)}")
        if unproven or run.verdict is Verdict.FAIL:
            raise CaseFailed(run)

    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], *more: Any, **options: Any) -> Any:
        """The findings as the console tells them; a traceback is for what is a bug."""
        from probes.errors import UsageError

        if isinstance(excinfo.value, CaseFailed):
            return _told(excinfo.value.run)
        if isinstance(excinfo.value, UsageError):
            return f"edgeprobe: {excinfo.value}"
        return super().repr_failure(excinfo, *more, **options)

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, 0, f"edgeprobe {self.path.stem}/{self.name}"


class SkippedItem(pytest.Item):
    """What of a suite has to be left out: a whole case, or a client of it."""

    reason: str

    def runtest(self) -> None:
        self.user_properties.append((_PROPERTY, "skipped"))
        pytest.skip(self.reason)

    def reportinfo(self) -> tuple[Path, int, str]:
        return self.path, 0, f"edgeprobe {self.path.stem}/{self.name}"


def _told(run: Run) -> str:
    from probes.model import Verdict
    from probes.reporters.console import plain
    from probes.reporters.words import worst_first

    lines = [plain(f) for f in worst_first(run.findings) if f.verdict is not Verdict.PASS]
    if run.verdict is not Verdict.FAIL:
        lines.insert(
            0, f"{run.verdict}: this case has proven nothing (--edgeprobe-allow-inconclusive skips it)\n"
        )
    return _unheeded("\n".join(lines))


def _line(finding: Finding) -> str:
    from probes.reporters.console import ascii_text
    from probes.reporters.words import tagged

    return _unheeded(ascii_text(f"{finding.title} ({tagged(finding)})"))


def _unheeded(text: str) -> str:
    """GitHub's runner obeys `::command::` and `##[command]` in whatever is printed, a stranger's words too."""
    if os.environ.get("GITHUB_ACTIONS") != "true":
        return text
    return re.sub(r"^(\s*):(?=:)", r"\1: ", text, flags=re.MULTILINE).replace("##[", "## [")


class _Proof:
    """Nothing measured is never green: a session whose cases were all skipped ends with 1."""

    def __init__(self) -> None:
        self.cases = self.measured = 0

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "call" and any(name == _PROPERTY for name, _ in report.user_properties):
            self.cases += 1
            self.measured += report.outcome != "skipped"

    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        if self.cases and not self.measured and exitstatus == pytest.ExitCode.OK:
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self.cases and not self.measured:
            terminalreporter.write_line("edgeprobe: nothing measured", red=True)
