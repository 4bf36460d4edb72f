"""What does `edgeprobe classify` do with a pasted text?"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, TextIO

from probes import outputs, own_signatures, pasted_file
from probes.classify import classify, to_document, told
from probes.errors import UsageError
from probes.marks import fired_command
from probes.marks.fired import ray_of

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Mapping, Sequence

    from probes.classify import Answer

_MOST_MIB = 64


def run(arguments: Namespace) -> int:
    """0, or as `--fired` ends; UsageError where nothing can be read."""
    outputs.check(arguments)
    fired_command.check(arguments, "reply")
    answers = classify(_read(arguments.file), _target(arguments.target))
    if not answers:
        raise UsageError(f"{arguments.file}: holds no response, no exception, no error page and no ray id")
    rules, code = fired_command.rules_of(_rays(answers), arguments) if arguments.fired else ({}, 0)
    with outputs.without_commands(outputs.person(arguments)):
        _show(answers, arguments, rules)
    if arguments.json is not None:
        outputs.write_json(f"{json.dumps(to_document(answers), indent=2)}\n", arguments.json)
    return code


def _rays(answers: Sequence[Answer]) -> list[str]:
    """Of those that the edge refused, and of those that nothing else is known of."""
    asked = ("blocked", "challenged", "ratelimited", "not_told")
    found = [
        one.attribution.extracted.get("ray") for one in answers if one.attribution.code.startswith(asked)
    ]
    return [ray for one in found if (ray := ray_of(one))]


def _target(name: str | None) -> str | None:
    """Of the target whose own signatures are asked, too: a file's, or one that was given by flags, by its host."""
    if name is None or own_signatures.file_of(name).is_file():
        return name
    from probes.config import load_target

    return load_target(name).name


def _show(answers: Sequence[Answer], arguments: Namespace, rules: Mapping[str, str]) -> None:
    """`rules`: ray → which rule fired."""
    out = outputs.person(arguments)
    if arguments.reply:
        from probes.classify.replies import reply

        out.write(f"{reply(answers)}\n")
        return
    show(answers, out, rules)


def show(answers: Sequence[Answer], out: TextIO, rules: Mapping[str, str] | None = None) -> None:
    """For people; `rules` as above."""
    from probes.reporters.answers import Row, report

    report(
        [
            Row(
                answer.title,
                told.tag(answer),
                (*told.rows(answer), *_rule(answer, rules or {})),
                _command(answer),
            )
            for answer in answers
        ],
        out,
    )


def _rule(answer: Answer, rules: Mapping[str, str]) -> list[tuple[str, str]]:
    ray = answer.attribution.extracted.get("ray", "")
    return [("rule", rules[ray])] if ray in rules else []


def _command(answer: Answer) -> str | None:
    return answer.next_test.command if answer.next_test else None


def _read(name: str) -> bytes:
    try:
        return pasted_file.read(name, _MOST_MIB, "response")
    except UsageError as fault:
        raise UsageError(f"{name}: {fault}") from None
