"""What of a prompt does the model behind the edge know already?

By whole blocks from the prompt's first byte on, as engines and OpenAI do; of Anthropic's messages up to the breakpoints that
the request sets, and not at all without one (https://platform.claude.com/docs/en/build-with-claude/prompt-caching).
"""

from __future__ import annotations

import hashlib
import threading
from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from probes.lab.behaviour import Caching
    from probes.lab.jobs import Job

BYTES = 4
"""Of a token in this lab."""


class PromptCache:
    """Of one origin, with all its replicas."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._since: dict[tuple[int, str], float] = {}
        """(replica, digest of a prefix) → from when on it can be read, moved by every use."""

    def meet(
        self,
        job: Job,
        body: Mapping[str, Any],
        how: Caching,
        now: float,
        *,
        number: int,
        unasked: bool,
        per_token: float = 0.0,
    ) -> Job:
        """The job of the request of that number, with what of its prompt is known and what is told of that. `unasked`:
        prompts are cached that ask for nothing. `per_token`: seconds that one takes to be read, before which no other
        request finds it.
        """
        texts = list(_parts(body))
        explicit = any(marked for _, marked in texts)
        read = written = 0
        if how.works and sum(len(text) for text, _ in texts) >= how.minimum * BYTES:
            ends = _breakpoints(texts) if explicit else _blocks(texts, how.block * BYTES)
            if explicit or unasked:
                read, written = self._used(list(ends), _replica(body, how, number), how, now, per_token)
        told = {"always": True, "never": False, "answers": not job.stream, "hits": read > 0}[how.reported]
        return replace(
            job,
            cached=read if told and (explicit or unasked) else None,
            written=written,
            spared=read if how.saves else 0,
            names=how.names,
            last=how.last,
        )

    def _used(
        self, ends: Sequence[tuple[int, str]], replica: int, how: Caching, now: float, per_token: float
    ) -> tuple[int, int]:
        """Tokens that were read, and that were written behind them."""
        read = written = 0
        with self._lock:
            for size, digest in ends:
                since = self._since.get((replica, digest))
                gone = since is None or now > since + how.lives
                if since is not None and since <= now and not gone and not written:
                    read = size
                else:
                    written = size - read
                if gone:
                    self._since[replica, digest] = now + how.delay + (size - read) / BYTES * per_token
                elif since is not None and since <= now:
                    self._since[replica, digest] = now
        return read // BYTES, written // BYTES


def _replica(body: Mapping[str, Any], caching: Caching, number: int) -> int:
    key = body.get("prompt_cache_key") if caching.affinity == "key" else None
    chosen = Random(f"{key}" if key else f"request {number}")  # noqa: S311 - not for secrets
    return chosen.randrange(caching.replicas)


def _parts(body: Mapping[str, Any]) -> Iterator[tuple[bytes, bool]]:
    """The texts of a prompt in their order, and whether a breakpoint stands behind each."""
    said = body.get("messages", body.get("input"))
    messages = [{"content": said}] if isinstance(said, str) else list(said or ())
    for message in ({"content": body.get("system")}, *messages):
        content = message.get("content") if isinstance(message, dict) else None
        for part in [{"text": content}] if isinstance(content, str) else content or ():
            if isinstance(part, dict):
                yield str(part.get("text", "")).encode(errors="replace"), "cache_control" in part


def _breakpoints(texts: list[tuple[bytes, bool]]) -> Iterator[tuple[int, str]]:
    digest, size = hashlib.sha256(), 0
    for text, marked in texts:
        digest.update(text)
        size += len(text)
        if marked:
            yield size, digest.hexdigest()


def _blocks(texts: list[tuple[bytes, bool]], block: int) -> Iterator[tuple[int, str]]:
    digest, whole = hashlib.sha256(), b"".join(text for text, _ in texts)
    for start in range(0, len(whole) - block + 1, block):
        digest.update(whole[start : start + block])
        yield start + block, digest.hexdigest()
