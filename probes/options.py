"""What can be said on the command line?

Each command is in `commands`, imported when it is run: `--help` loads neither an SDK nor YAML nor pydantic.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, NoReturn

from probes import __version__
from probes.errors import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Sequence

USAGE = 2
SUITES = "identity, smoke, edge, long, streams, keepalive, burst"
"""The bundled ones; listed here because reading them takes YAML."""
_MOST_DAYS = 36500.0


class Parser(argparse.ArgumentParser):
    """Says the nearest valid word for a wrong one."""

    def error(self, message: str) -> NoReturn:
        wrong = message.partition("unrecognized arguments: ")[2].split()
        flag = next((word.partition("=")[0] for word in wrong if word.startswith("-")), None)
        if flag is not None:
            message += did_you_mean(flag, self._option_string_actions) if len(flag) > 2 else ""
        self.exit(USAGE, f"{self.prog}: {message}\n")

    def parse_args(self, args: Sequence[str] | None = None, namespace: None = None) -> argparse.Namespace:  # type: ignore[override]
        found, unknown = self.parse_known_args(args, namespace)
        if unknown:
            (getattr(found, "parser", None) or self).error(f"unrecognized arguments: {' '.join(unknown)}")
        return found


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
        _demo,
        _run,
        _plan,
        _report,
        _classify,
        _calibrate,
        _explain,
        _clients,
        _validate,
        _init,
        _lab,
        _store,
    ):
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
    _target_flags(parser)
    _choice_flags(parser)
    _report_flags(parser)
    parser.add_argument("--no-store", action="store_true", help="do not keep the run in ./reports")
    parser.add_argument(
        "--allow-inconclusive", action="store_true", help="exit 0 instead of 3 when at least one case passed"
    )


def _plan(commands: argparse._SubParsersAction[Parser]) -> None:
    parser = _command(commands, "plan", "say what a run would send and cost, without sending anything")
    parser.add_argument("suites", nargs="+", metavar="SUITE", help=f"{SUITES}, or a file")
    _target_flags(parser)
    _choice_flags(parser)


def _report(commands: argparse._SubParsersAction[Parser]) -> None:
    parser = _command(commands, "report", "show a stored run again")
    parser.add_argument("run", metavar="RUN", help="its id, or a file")
    parser.add_argument(
        "--rejudge",
        action="store_true",
        help="judge its answers again by today's signatures, and say what changed; sends and stores nothing",
    )
    _db_flag(parser)
    _report_flags(parser)


def _classify(commands: argparse._SubParsersAction[Parser]) -> None:
    parser = _command(
        commands, "classify", "say who made a pasted error, whose move it is, and what to do; sends nothing"
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
    _target_flags(parser)


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
        choices=("target", "suite"),
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
    parser.add_argument("--port", type=_port, default=0, help="of the edge (default: any free one)")
    parser.add_argument(
        "--profile", default="cloudflare", help="what the edge looks like (default: cloudflare)"
    )
    parser.add_argument("--no-key", action="store_true", help="accept requests without a key")
    parser.add_argument("--time-scale", type=_scale, default=1.0, metavar="X", help=_SCALE_HELP)


def _store(commands: argparse._SubParsersAction[Parser]) -> None:
    parser = _command(commands, "store", "look after the database that the canary keeps its runs in")
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True, parser_class=Parser)
    stats = _command(actions, "stats", "say what it holds")
    stats.add_argument("--json", metavar="FILE", help="the same as JSON; - for standard output")
    prune = _command(actions, "prune", "delete what is old; figures by the day stay")
    prune.add_argument("--raw-days", type=_days, default=30.0, metavar="N", help="of any run (default: 30)")
    prune.add_argument(
        "--failed-days", type=_days, default=365.0, metavar="N", help="of those with a failure (default: 365)"
    )
    for action in (stats, prune):
        _db_flag(action)


def _db_flag(parser: Parser) -> None:
    parser.add_argument(
        "--db", metavar="URL", help="the database (default: edgeprobe.db where runs are kept)"
    )


def _report_flags(parser: Parser) -> None:
    group = parser.add_argument_group("reports, beside what is shown")
    group.add_argument("--json", metavar="FILE", help="the run as JSON; - for standard output")
    group.add_argument("--junit", metavar="FILE", help="JUnit XML, for the test view of a CI server")
    group.add_argument("--markdown", metavar="FILE", help="for a job summary or a comment")
    group.add_argument("--html", metavar="FILE", help="one page for a browser or a printer")


def _target_flags(parser: Parser) -> None:
    group = parser.add_argument_group("target: a file, or flags")
    group.add_argument("--target", metavar="NAME", help="a file in ./configs/targets (default: the only one)")
    group.add_argument("--base-url", metavar="URL", help="as the SDK takes it: …/v1 for OpenAI")
    group.add_argument("--api", metavar="API", help="openai or anthropic")
    group.add_argument("--model", metavar="M")
    group.add_argument(
        "--key-env",
        metavar="VAR",
        help="variable that holds the key (default: OPENAI_API_KEY, ANTHROPIC_API_KEY)",
    )
    group.add_argument("--no-key", action="store_true", help="the server takes requests without a key")
    group.add_argument(
        "--endpoint", action="append", default=[], metavar="NAME", help="chat, messages …; repeatable"
    )
    group.add_argument(
        "--route", action="append", default=[], metavar="NAME=URL", help="a further way to it; repeatable"
    )
    group.add_argument(
        "--connect-to", metavar="HOST:PORT", help="adds the route origin: same URL, that address"
    )
    group.add_argument("--proxy", metavar="URL", help="a forward proxy to go through")
    group.add_argument("--no-env-proxy", action="store_true", help="ignore the environment's proxies")
    group.add_argument(
        "--header",
        action="append",
        default=[],
        metavar="NAME=ENV",
        help="a header whose value is in a variable; repeatable",
    )
    group.add_argument("--owned", action="store_true", help="the target is yours")
    group.add_argument("--vantage", metavar="NAME", help="where this probe stands")


def _choice_flags(parser: Parser) -> None:
    parser.add_argument("--client", action="append", metavar="NAME", help="only this client; repeatable")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="a parameter of the cases, or route=NAME; repeatable",
    )
    parser.add_argument(
        "--max-requests", type=int, metavar="N", help="budget of requests (default: the target's)"
    )
    parser.add_argument(
        "--max-tokens-total", type=int, metavar="N", help="budget of tokens (default: the target's)"
    )
    parser.add_argument(
        "--max-usd", type=float, metavar="X", help="budget of US dollars (default: the target's)"
    )
    parser.add_argument("--seed", type=int, metavar="N", help="make the same random choices as another run")
    parser.add_argument("--time-scale", type=_scale, default=1.0, metavar="X", help=_SCALE_HELP)


_SCALE_HELP = "the lab only: machine seconds per second, such as 0.02 for 50 times faster"


def _scale(text: str) -> float:
    try:
        scale = float(text)
    except ValueError:
        scale = 0.0
    if not 0 < scale <= 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0 and up to 1")
    return scale


def _port(text: str) -> int:
    if not (text.isdecimal() and text.isascii() and int(text) < 2**16):
        raise argparse.ArgumentTypeError(f"{text!r} is not a port, 0 to 65535")
    return int(text)


def _days(text: str) -> float:
    try:
        days = float(text)
    except ValueError:
        days = -1.0
    if not 0 <= days <= _MOST_DAYS:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of days, 0 to {_MOST_DAYS:g}")
    return days
