"""Which flags do several commands take, and what may be said with them?"""

from __future__ import annotations

import argparse

_MOST_DAYS = 36500.0
_MOST_PERCENT = 1000.0
_MOST_COUNTED = 10**12


def database(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--db", metavar="URL", help="the database (default: edgeprobe.db where runs are kept)"
    )


def token(parser: argparse._ActionsContainer) -> None:
    parser.add_argument(
        "--token-env",
        metavar="VAR",
        help="variable that holds a token that may read Cloudflare's API (default: CLOUDFLARE_API_TOKEN)",
    )


def fired(parser: argparse.ArgumentParser) -> argparse._ArgumentGroup:
    group = parser.add_argument_group("the rule that refused, by the ray of the answer")
    group.add_argument(
        "--fired", action="store_true", help="ask Cloudflare's firewall events which rule fired; needs --zone"
    )
    group.add_argument("--zone", metavar="ID", help="of the zone that refused: 32 hexadecimal digits")
    token(group)
    return group


def baseline(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--baseline",
        metavar="NAME",
        help="hold it against a baseline (mark --baseline NAME), or a stored run by its id or file",
    )
    slower(parser)
    parser.add_argument(
        "--db", metavar="URL", help="where --baseline looks (default: edgeprobe.db where runs are kept)"
    )


def bill(parser: argparse.ArgumentParser, switch: str, about: str, tokens: str) -> None:
    """`tokens`: where they come from unless they are said."""
    group = parser.add_argument_group("the bill of a month")
    group.add_argument(switch, action="store_true", help=about)
    group.add_argument(
        "--requests-per-month", type=count, metavar="N", help="how many there are (default: 1,000,000)"
    )
    group.add_argument("--prompt-tokens", type=count, metavar="N", help=f"of a request ({tokens})")
    group.add_argument(
        "--cached-share",
        type=share,
        metavar="PERCENT",
        help="of all prompt tokens, what comes from the cache (default: not known, or the run's own)",
    )
    group.add_argument("--output-tokens", type=count, metavar="N", help=f"of an answer ({tokens})")
    if switch == "--monthly":  # a report has the flag already
        group.add_argument("--json", metavar="FILE", help="the bill as JSON; - for standard output")


def slower(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--slower",
        type=percent,
        default=0.2,
        metavar="PERCENT",
        help="what counts as slower than before (default: 20)",
    )


def reports(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("reports, beside what is shown")
    group.add_argument("--json", metavar="FILE", help="the run as JSON; - for standard output")
    group.add_argument("--junit", metavar="FILE", help="JUnit XML, for the test view of a CI server")
    group.add_argument("--markdown", metavar="FILE", help="for a job summary or a comment")
    group.add_argument("--html", metavar="FILE", help="one page for a browser or a printer")


def bundle(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--bundle", metavar="FILE", help="a zip to judge it again and to see the same on any machine"
    )


def target(parser: argparse.ArgumentParser) -> None:
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


def choices(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--client", action="append", metavar="NAME", help="only this client; repeatable")
    parser.add_argument(
        "--sdk",
        action="append",
        default=[],
        metavar="VERSION",
        help="ask through this version of an SDK as well: openai==1.40.0, anthropic==0.*, npm:openai@6.49.0; repeatable",
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="a parameter of the cases, or route=NAME; repeatable",
    )
    budget(parser)
    parser.add_argument("--seed", type=int, metavar="N", help="make the same random choices as another run")
    parser.add_argument("--time-scale", type=scale, default=1.0, metavar="X", help=SCALE_HELP)


def budget(parser: argparse.ArgumentParser, requests: str = "the target's") -> None:
    parser.add_argument(
        "--max-requests", type=int, metavar="N", help=f"budget of requests (default: {requests})"
    )
    parser.add_argument(
        "--max-tokens-total", type=int, metavar="N", help="budget of tokens (default: the target's)"
    )
    parser.add_argument(
        "--max-usd", type=float, metavar="X", help="budget of US dollars (default: the target's)"
    )


def repro(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "Exit codes: 1 REPRODUCED, STILL, CHANGED; 0 NOT REPRODUCED, FIXED; 3 CANNOT; 2 a mistake in the call. Without --target "
        "the URL of the request is the target. Secrets are taken out of what is given at once; of this machine's variables "
        "only those are sent that --key-env, --header, --secret or the target name."
    )
    parser.add_argument(
        "file",
        nargs="?",
        metavar="FILE",
        help="a bundle, or a text in any of these forms; - for standard input",
    )
    group = parser.add_argument_group("the request, as somebody told it; - for standard input")
    group.add_argument("--curl", metavar="FILE", help="a curl line, as people write it or browsers copy it")
    group.add_argument("--har", metavar="FILE", help="a HAR file of a browser or a proxy")
    group.add_argument("--request", metavar="FILE", help="HTTP as on the wire: request line, headers, body")
    group.add_argument("--sdk-call", metavar="FILE", help="an SDK's call or its arguments, as JSON")
    group.add_argument("--entry", type=int, metavar="N", help="which of several it holds, from 1")
    group.add_argument(
        "--secret",
        action="append",
        default=[],
        metavar="NAME=VAR",
        help="the variable that holds what a bundle or a text calls NAME, such as TOLD_QUERY; repeatable",
    )
    target(parser)
    budget(parser, "60, or 150 where the same is answered now so, now otherwise; 500 at the most")
    parser.add_argument("--seed", type=int, metavar="N", help="make the same random choices as another run")
    parser.add_argument("--time-scale", type=scale, default=1.0, metavar="X", help=SCALE_HELP)
    reports(parser)
    bundle(parser)
    parser.add_argument("--no-store", action="store_true", help="do not keep the run in ./reports")


def during(parser: argparse.ArgumentParser) -> None:
    _seconds(parser, "--before", 8.0, "asked before it begins (default: 8)")
    _seconds(parser, "--every", 1.0, "between two short requests (default: 1)")
    until = "or until the streams that were open then are over, 60 at the most"
    _seconds(parser, "--after", None, f"asked after its end (default: 5, {until})")
    parser.add_argument(
        "--streams",
        type=int,
        default=3,
        metavar="N",
        help="long ones that are open at any time (default: 3, or one less than the target's limits.concurrency)",
    )
    parser.add_argument(
        "--tokens", type=int, default=1000, metavar="N", help="of each of them (default: 1000)"
    )
    parser.add_argument(
        "--client", action="append", metavar="NAME", help="(default: the SDK of the target's API)"
    )
    parser.add_argument("--no-store", action="store_true", help="do not keep the run in ./reports")
    parser.add_argument("--time-scale", type=scale, default=1.0, metavar="X", help=SCALE_HELP)


def _seconds(parser: argparse.ArgumentParser, flag: str, default: float | None, about: str) -> None:
    parser.add_argument(flag, type=float, default=default, metavar="SECONDS", help=about)


SCALE_HELP = "the lab only: machine seconds per second, such as 0.02 for 50 times faster"


def scale(text: str) -> float:
    try:
        given = float(text)
    except ValueError:
        given = 0.0
    if not 0 < given <= 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number above 0 and up to 1")
    return given


def port(text: str) -> int:
    if not (text.isdecimal() and text.isascii() and int(text) < 2**16):
        raise argparse.ArgumentTypeError(f"{text!r} is not a port, 0 to 65535")
    return int(text)


def days(text: str) -> float:
    try:
        given = float(text)
    except ValueError:
        given = -1.0
    if not 0 <= given <= _MOST_DAYS:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of days, 0 to {_MOST_DAYS:g}")
    return given


def count(text: str) -> int:
    if not (text.isdecimal() and text.isascii() and 0 < int(text[:20]) <= _MOST_COUNTED):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number, 1 to {_MOST_COUNTED:,}")
    return int(text)


def share(text: str) -> float:
    try:
        given = float(text.removesuffix("%"))
    except ValueError:
        given = -1.0
    if not 0 <= given <= 100:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of percent, 0 to 100")
    return given / 100


def percent(text: str) -> float:
    try:
        given = float(text.removesuffix("%"))
    except ValueError:
        given = -1.0
    if not 1 <= given <= _MOST_PERCENT:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of percent, 1 to {_MOST_PERCENT:g}")
    return given / 100
