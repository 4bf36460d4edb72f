"""What can be said on the command line?

Each command is in `commands`, imported when it is run: `--help` loads neither an SDK nor YAML nor pydantic.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from probes import __version__, flags
from probes.parser import Parser

if TYPE_CHECKING:
    import argparse

SUITES = "identity, smoke, edge, gate, long, streams, cache, curve, keepalive, burst, sdk-matrix"
"""The bundled ones; listed here because reading them takes YAML."""


def parser() -> Parser:
    parser = Parser(
        prog="edgeprobe",
        description="Knocks on the door of an LLM API as its customers do, and says which layer answered, why, and what "
        "one thing to change.",
        allow_abbrev=False,
        epilog="Exit codes: 0 fine, 1 a failure was found, 2 a mistake in the call, 3 nothing proven.",
    )
    parser.add_argument("--version", action="version", version=f"edgeprobe {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True, parser_class=Parser)
    for add in (
        _demo, _run, _plan, _watch, _mark, _during, _repro, _report, _compare, _classify,
        _calibrate, _explain, _clients, _validate, _init, _lab, _store,
    ):  # fmt: skip
        add(commands)
    return parser


def _command(commands: argparse._SubParsersAction[Parser], name: str, about: str) -> Parser:
    parser = commands.add_parser(name, help=about, description=about, allow_abbrev=False)
    parser.set_defaults(parser=parser)
    return parser


def _demo(commands: argparse._SubParsersAction[Parser]) -> None:
    parser = _command(
        commands, "demo", "find two planted faults in a lab on this machine; no key, no network"
    )
    parser.add_argument("--json", metavar="FILE", help="also write the run as JSON; - for standard output")


def _run(commands: argparse._SubParsersAction[Parser]) -> None:
    parser = _command(commands, "run", "run suites against a target")
    parser.add_argument("suites", nargs="+", metavar="SUITE", help=f"{SUITES}, or a file")
    flags.target(parser)
    flags.choices(parser)
    flags.baseline(parser)
    flags.reports(parser)
    flags.bundle(parser)
    parser.add_argument("--no-store", action="store_true", help="do not keep the run in ./reports")
    parser.add_argument(
        "--allow-inconclusive", action="store_true", help="exit 0 instead of 3 when at least one case passed"
    )


def _plan(commands: argparse._SubParsersAction[Parser]) -> None:
    parser = _command(commands, "plan", "say what a run would send and cost, without sending anything")
    parser.add_argument("suites", nargs="+", metavar="SUITE", help=f"{SUITES}, or a file")
    flags.target(parser)
    flags.choices(parser)
    flags.baseline(parser)
    flags.bill(
        parser, "--monthly", "also say what a month of the target costs, and what would save of it", "needed"
    )


def _watch(commands: argparse._SubParsersAction[Parser]) -> None:
    parser = _command(
        commands, "watch", "run suites on a schedule, remember what came of them, and alert; until ended"
    )
    parser.add_argument("--config", metavar="FILE", help="(default: configs/canary.yaml)")
    parser.add_argument(
        "--once", action="store_true", help="every entry once, whenever it is due, and end; for a cron job"
    )
    parser.add_argument("--entry", action="append", metavar="NAME", help="with --once, only this; repeatable")
    parser.add_argument("--listen", metavar="HOST:PORT", help="of page and metrics, not the file's")
    parser.add_argument("--time-scale", type=flags.scale, default=1.0, metavar="X", help=flags.SCALE_HELP)


def _mark(commands: argparse._SubParsersAction[Parser]) -> None:
    parser = _command(
        commands, "mark", "say what was changed and when, so that it stands beside what the canary saw"
    )
    parser.add_argument("text", nargs="?", metavar="TEXT", help='what was changed, such as "bot rule off"')
    parser.add_argument(
        "--at", metavar="TIME", help="14:05, 2026-11-30T14:05:00Z or -10m, ten minutes ago (default: now)"
    )
    parser.add_argument("--baseline", metavar="NAME", help="the runs before it go by this name from now on")
    parser.add_argument("--author", metavar="WHO", help="(default: the user here)")
    parser.add_argument("--list", action="store_true", help="show the marks there are")
    parser.add_argument(
        "--remove", metavar="WHICH", help="take a mark back: by its text, its time, or its baseline's name"
    )
    parser.add_argument(
        "--import",
        dest="log",
        choices=("cloudflare",),
        help="take the changes of the CDN's audit log as marks",
    )
    parser.add_argument("--account", metavar="ID", help="whose audit log to import")
    parser.add_argument("--zone", metavar="NAME", help="import only what this zone, or the account, changed")
    parser.add_argument(
        "--since", metavar="TIME", help="of --list (default: 7d) and --import (default: 24h); as --at"
    )
    parser.add_argument("--target", metavar="NAME", help="only this one is changed (default: any)")
    flags.token(parser)
    flags.database(parser)


def _during(commands: argparse._SubParsersAction[Parser]) -> None:
    parser = _command(
        commands, "during", "run a command, and say what customers met before, during and after it"
    )
    parser.usage = "edgeprobe during [options] -- CMD [ARGUMENT ...]"
    parser.epilog = (
        "The command's input and output are its own; what edgeprobe has to say goes to standard error, and holds the "
        "command's words and the beginnings of what it printed. Exit code: the command's where it is not 0 (127: there is no "
        "such command, and nothing was sent), else 0 fine, 1 a failure was found, 2 a mistake in the call, 3 nothing proven, "
        "such as where it failed before."
    )
    parser.set_defaults(aside=True)
    flags.during(parser)
    flags.budget(parser)
    flags.target(parser)
    flags.reports(parser)
    flags.bundle(parser)


def _repro(commands: argparse._SubParsersAction[Parser]) -> None:
    flags.repro(
        _command(commands, "repro", "ask a customer's request again, and say whether it fails here, too")
    )


def _report(commands: argparse._SubParsersAction[Parser]) -> None:
    parser = _command(
        commands, "report", "show a stored run again, or how targets did since a time and what is wrong now"
    )
    parser.add_argument("run", nargs="?", metavar="RUN", help="its id, a file or a bundle")
    parser.add_argument(
        "--since",
        metavar="TIME",
        help="instead of a run: all that are kept since then, a canary's and others, such as 7d, 36h or 2026-11-30T14:05:00Z",
    )
    parser.add_argument("--target", metavar="NAME", help="with --since, only this one (default: all)")
    parser.add_argument(
        "--rejudge",
        action="store_true",
        help="judge its answers again by today's signatures, and say what changed; sends and stores nothing",
    )
    flags.bill(
        parser,
        "--cost",
        "instead say what a month of its target costs, and what would save of it; --json FILE has it, too",
        "default: as in the run",
    )
    flags.database(parser)
    flags.fired(parser)
    flags.reports(parser)
    flags.bundle(parser)


def _compare(commands: argparse._SubParsersAction[Parser]) -> None:
    parser = _command(
        commands, "compare", "say what changed for customers between two states of a service; sends nothing"
    )
    about = "a run's id or file, FROM..TO, a time (14:05 is this machine's; -10m behind --), the text of a mark, or a baseline"
    parser.add_argument("a", metavar="A", help=f"before: {about}")
    parser.add_argument(
        "b",
        nargs="?",
        metavar="B",
        help="after: the same (default: what came after A, a time, mark or baseline)",
    )
    parser.add_argument("--target", metavar="NAME", help="only runs of this target")
    parser.add_argument("--vantage", metavar="NAME", help="only runs from there (none: those that name none)")
    flags.slower(parser)
    parser.add_argument("--json", metavar="FILE", help="the comparison as JSON; - for standard output")
    parser.add_argument("--markdown", metavar="FILE", help="the table, for a pull request")
    flags.database(parser)


def _classify(commands: argparse._SubParsersAction[Parser]) -> None:
    parser = _command(
        commands,
        "classify",
        "say who made a pasted error, whose move it is, and what to do; sends nothing but by --fired",
    )
    parser.add_argument(
        "file",
        metavar="FILE",
        help="a response, HAR file, exception, copied page, ray id or a whole ticket; - for standard input",
    )
    parser.add_argument("--json", metavar="OUT", help="the answers as JSON; - for standard output")
    parser.add_argument("--reply", action="store_true", help="write the text to send to the customer instead")
    parser.add_argument(
        "--target", metavar="NAME", help="also ask this target's own signatures (see calibrate)"
    )
    flags.fired(parser).add_argument(
        "--since", metavar="TIME", help="when it was refused, at the earliest, such as -2h (default: 24h)"
    )


def _calibrate(commands: argparse._SubParsersAction[Parser]) -> None:
    parser = _command(
        commands,
        "calibrate",
        "ask the edge of your own zone for its error pages, and keep those that are yours",
    )
    parser.add_argument("named", nargs="?", metavar="TARGET", help="as --target")
    parser.add_argument(
        "--code",
        action="append",
        type=int,
        metavar="N",
        help="an error of Cloudflare's, such as 524 or 1010 (default: 522, 524, 1010, 1020, 1015); repeatable",
    )
    parser.add_argument("--dry-run", action="store_true", help="say what would be asked, and send nothing")
    parser.add_argument("--json", metavar="FILE", help="what was found as JSON; - for standard output")
    flags.target(parser)


def _explain(commands: argparse._SubParsersAction[Parser]) -> None:
    parser = _command(commands, "explain", "say what a finding code means and whose move it is")
    parser.add_argument("code", metavar="CODE", help="such as blocked.client, or a family such as stream")


def _validate(commands: argparse._SubParsersAction[Parser]) -> None:
    parser = _command(
        commands, "validate", "read every file, send nothing, and say what is wrong in which line"
    )
    parser.add_argument("suites", nargs="*", metavar="SUITE", help="only these (default: all)")
    parser.add_argument("--target", metavar="NAME", help="only this target (default: all)")
    parser.add_argument("--env", action="store_true", help="also check that the variables they name are set")
    parser.add_argument(
        "--schema",
        choices=("target", "suite", "canary"),
        help="print the JSON Schema of such a file, for editors, and end",
    )


def _init(commands: argparse._SubParsersAction[Parser]) -> None:
    parser = _command(commands, "init", "write a commented starter set of files; never overwrites one")
    parser.add_argument("folder", nargs="?", default=".", metavar="DIR", help="where (default: here)")


def _clients(commands: argparse._SubParsersAction[Parser]) -> None:
    _command(commands, "clients", "list the clients that can ask, and what keeps one from it")


def _lab(commands: argparse._SubParsersAction[Parser]) -> None:
    parser = _command(commands, "lab", "serve an API behind a bad edge on this machine, until interrupted")
    parser.add_argument(
        "--fault", action="append", default=[], metavar="ID", help="repeatable; --list names them"
    )
    parser.add_argument("--list", action="store_true", help="list the faults and end")
    parser.add_argument("--port", type=flags.port, default=0, help="of the edge (default: any free one)")
    parser.add_argument(
        "--profile", default="cloudflare", help="what the edge looks like (default: cloudflare)"
    )
    parser.add_argument("--no-key", action="store_true", help="accept requests without a key")
    parser.add_argument("--time-scale", type=flags.scale, default=1.0, metavar="X", help=flags.SCALE_HELP)


def _store(commands: argparse._SubParsersAction[Parser]) -> None:
    parser = _command(commands, "store", "look after the database that the canary keeps its runs in")
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True, parser_class=Parser)
    stats = _command(actions, "stats", "say what it holds")
    stats.add_argument("--json", metavar="FILE", help="the same as JSON; - for standard output")
    prune = _command(actions, "prune", "delete what is old; figures by the day stay")
    prune.add_argument(
        "--raw-days",
        type=flags.days,
        metavar="N",
        help="of any run (default: as configs/canary.yaml says, 30)",
    )
    prune.add_argument(
        "--failed-days",
        type=flags.days,
        metavar="N",
        help="of those with a failure (default: as configs/canary.yaml says, 365)",
    )
    resume = _command(actions, "resume", "ask a target again whose server asked for a pause")
    resume.add_argument("target", metavar="TARGET", help="its name, as stats shows it")
    for action in (stats, prune, resume):
        flags.database(action)
