"""From an API server's refusals to the errors of providers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from burst.errors import AccessDenied, AccountLimitReached, CallInvalid, RetryLater
from minicluster.kube_client.errors import ApiError, ApiUnreachableError

if TYPE_CHECKING:
    from burst.errors import ProviderError
    from minicluster.kube_client.errors import KubernetesError

QUOTA = "exceeded quota"
"""What the API server answers where a ResourceQuota refuses something."""
_GOING = "being terminated"
_WEBHOOK = "admission webhook"
ABSENT, CONFLICT, FORBIDDEN = 404, 409, 403
EXISTS = "AlreadyExists"
_PASSING = {408, 409, 429}


def translated(error: KubernetesError, location: str) -> ProviderError:
    """Return the error for one of the API server's."""
    if isinstance(error, ApiError):
        return _refusal(error, location)
    text = f"{location}: {error}"
    return RetryLater(text) if isinstance(error, ApiUnreachableError) else AccessDenied(text)


def _refusal(error: ApiError, location: str) -> ProviderError:
    text = f"{location}: {error.message or error}"
    if error.status == 403 and QUOTA in error.message:
        return AccountLimitReached(text)
    if error.status in _PASSING or error.status >= 500 or _GOING in error.message:
        return RetryLater(text, error.retry_after)
    if error.status in (401, 403) and _WEBHOOK not in error.message:
        return AccessDenied(text)
    return CallInvalid(text)
