"""From what Google's clients raise to the errors of providers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, TypeVar

from burst.errors import AccessDenied, AccountLimitReached, CallInvalid, NoCapacity, ProviderError, RetryLater

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

T = TypeVar("T")
ABSENT, CONFLICT = 404, 409
_STOCK_OUT = re.compile(r"RESOURCE_POOL_EXHAUSTED|VM_MIN_COUNT_NOT_REACHED|STOCKOUT")
_QUOTA = re.compile(r"QUOTA_EXCEEDED|quotaExceeded|limitExceeded|Quota '[^']*' exceeded|nsufficient.*quota")
_RATE = {"rateLimitExceeded", "userRateLimitExceeded", "operationRateLimitExceeded"}
_PASSING = {408, 409, 425, 429}
_RPC_BUSY = {"FAILED_PRECONDITION", "ABORTED"}
"""In the words of gRPC: another operation is under way."""
_URL = re.compile(r"^(GET|POST|PUT|PATCH|DELETE) \S+: ")


def translated(error: Exception, location: str) -> ProviderError:
    """Return the error for one that a client raised."""
    if isinstance(error, ProviderError):
        return error
    if isinstance(code := getattr(error, "code", None), int):
        return _refusal(error, code, f"{location}: {_URL.sub('', str(getattr(error, 'message', error)))}")
    if type(error).__module__.startswith("google.auth"):
        first = next(iter(error.args), type(error).__name__)  # behind it comes the answer itself
        return _unproven(error, f"{location}: {first}")
    return RetryLater(f"{location}: {type(error).__name__}: {error}")


def _unproven(error: Exception, text: str) -> ProviderError:
    """Return the error where no access token could be got."""
    if getattr(error, "retryable", False) or type(error).__name__ == "TransportError":
        return RetryLater(text)
    return AccessDenied(f"{text}: the credentials are not good any more, or never were")


def _refusal(error: Any, code: int, text: str) -> ProviderError:
    reasons = {str(each.get("reason", "")) for each in error.errors or () if isinstance(each, dict)}
    status = rpc_status(error)
    if code in {403, 429} and _QUOTA.search(" ".join((*reasons, text))) and not reasons & _RATE:
        return AccountLimitReached(text)
    if code in _PASSING or code >= 500 or reasons & _RATE or status in _RPC_BUSY:
        return RetryLater(text, _after(error))
    return AccessDenied(text) if code in {401, 403} else CallInvalid(text)


def rpc_status(error: Any) -> str:
    """Return the status of an answer in the words of gRPC, as GKE has it; empty without one."""
    try:
        found = error.response.json()["error"]
        return str(found.get("status", ""))
    except (AttributeError, KeyError, TypeError, ValueError):
        return ""


def or_absent(call: Callable[[], T]) -> T | None:
    """Return what a call of a client returns; None for what is not there."""
    try:
        return call()
    except Exception as error:
        if getattr(error, "code", None) == ABSENT:
            return None
        raise


def _after(error: Any) -> float:
    headers: Mapping[str, str] = getattr(getattr(error, "response", None), "headers", None) or {}
    text = headers.get("Retry-After", "")
    return float(text) if text.isdigit() else 0.0


def operation_error(problems: Iterable[tuple[str, str]], location: str) -> ProviderError | None:
    """Return the error for an operation that has failed, from its codes and messages; None without any."""
    found = list(problems)
    if not found:
        return None
    text = f"{location}: {'; '.join(f'{code}: {message}' for code, message in found)}"
    codes = " ".join(code for code, _ in found)
    if _QUOTA.search(text):
        return AccountLimitReached(text)
    if _STOCK_OUT.search(codes):
        return NoCapacity(text)
    return AccessDenied(text) if "PERMISSION" in codes else CallInvalid(text)
