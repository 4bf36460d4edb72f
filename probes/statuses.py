"""Which HTTP status stands behind the words that makers use for their errors?"""

from __future__ import annotations

from http import HTTPStatus
from typing import Final

# https://platform.claude.com/docs/en/api/errors: each type has one status.
OF_ANTHROPIC: Final = {
    "authentication_error": 401, "billing_error": 402, "permission_error": 403, "not_found_error": 404,
    "request_too_large": 413, "rate_limit_error": 429, "api_error": 500, "timeout_error": 504, "overloaded_error": 529,
}  # fmt: skip
# https://platform.openai.com/docs/guides/error-codes
OF_OPENAI: Final = {
    "invalid_api_key": 401, "model_not_found": 404, "rate_limit_exceeded": 429, "insufficient_quota": 429,
    "context_length_exceeded": 400,
}  # fmt: skip
OFTEN: Final = {"server_error": 500, "invalid_request_error": 400}
"""Types that come under several statuses, of which this is the usual one; and either maker's in another's shape."""

# Of the SDKs (openai and anthropic `_exceptions.py`, `core/error.ts`, `com.openai.errors`), of LiteLLM, and of AWS
# (https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_InvokeModel.html), without their last word.
OF_CLASS: Final = {
    "BadRequest": 400, "Authentication": 401, "Unauthorized": 401, "PermissionDenied": 403, "NotFound": 404,
    "Conflict": 409, "RequestTooLarge": 413, "UnprocessableEntity": 422, "RateLimit": 429, "BadGateway": 502,
    "ServiceUnavailable": 503, "DeadlineExceeded": 504, "Overloaded": 529,
    "AccessDenied": 403, "ResourceNotFound": 404, "ModelTimeout": 408, "ModelError": 424, "Throttling": 429,
    "ModelNotReady": 429,
}  # fmt: skip
_OF_PHRASE = {status.phrase.lower(): int(status) for status in HTTPStatus if status >= 400} | {
    "gateway time-out": 504, "request time-out": 408, "payload too large": 413, "request entity too large": 413,
    "service temporarily unavailable": 503,
}  # fmt: skip
_OF_CLOUDFLARE = {1015: 429, 1016: 530, 1033: 530}


def of_class(name: str) -> int | None:
    """`openai.RateLimitError` and `ThrottlingException` are 429."""
    return OF_CLASS.get(name.rpartition(".")[2].removesuffix("Error").removesuffix("Exception"))


def of_phrase(words: str) -> int | None:
    """`Bad Gateway` is 502."""
    return _OF_PHRASE.get(words.lower())


def of_cloudflare(code: int) -> int:
    """That the page of a code comes with; for most of the 1xxx it is 403."""
    return code if code < 1000 else _OF_CLOUDFLARE.get(code, 403)
