"""Whose endpoint does the path of a request name?"""

from __future__ import annotations

from typing import Literal, NamedTuple
from urllib.parse import urlsplit


class Endpoint(NamedTuple):
    """`dialect`: of what it answers, where that is judged. `api`: whose SDK asks it by putting `path` behind its base URL;
    `None` where both do.
    """

    dialect: str | None
    api: Literal["openai", "anthropic"] | None
    path: str


ENDPOINTS = {
    "/chat/completions": Endpoint("openai.chat", "openai", "/chat/completions"),
    "/completions": Endpoint("openai.completions", "openai", "/completions"),
    "/responses": Endpoint("openai.responses", "openai", "/responses"),
    "/embeddings": Endpoint(None, "openai", "/embeddings"),
    "/messages": Endpoint("anthropic.messages", "anthropic", "/v1/messages"),
    "/models": Endpoint("models", None, "/models"),
}
"""By the end of the path; of two that fit the longer stands first."""


def endpoint(url: str) -> Endpoint | None:
    """`None` where it is no URL, or none of an API."""
    try:
        path = urlsplit(url).path.rstrip("/")
    except ValueError:
        return None
    if path.rpartition("/")[0].endswith("/responses"):
        return ENDPOINTS["/responses"]  # a stored one, by its id
    return next((found for end, found in ENDPOINTS.items() if path.endswith(end)), None)
