"""From AWS's refusals, and from those of its client, to the errors of providers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from burst.errors import AccessDenied, AccountLimitReached, CallInvalid, NoCapacity, RetryLater

if TYPE_CHECKING:
    from collections.abc import Mapping

    from burst.errors import ProviderError

IN_USE = "ResourceInUseException"
_LIMITS = {"ResourceLimitExceededException", "InstanceLimitExceeded", "VcpuLimitExceeded", "LimitExceeded"}
_CAPACITY = {"InsufficientInstanceCapacity", "InsufficientCapacity"}
_PASSING = {
    "InternalError",
    "InternalFailure",
    "RequestLimitExceeded",
    "RequestTimeout",
    "ServerException",
    "ServiceUnavailableException",
    "Throttling",
    "ThrottlingException",
    "TooManyRequestsException",
    "Unavailable",
}
_DENIED = {
    "AccessDenied",
    "AccessDeniedException",
    "AuthFailure",
    "ExpiredToken",
    "ExpiredTokenException",
    "IncompleteSignature",
    "InvalidClientTokenId",
    "InvalidSignatureException",
    "MissingAuthenticationToken",
    "OptInRequired",
    "RequestExpired",
    "SignatureDoesNotMatch",
    "UnauthorizedOperation",
    "UnrecognizedClientException",
}
_NO_CREDENTIALS = {
    "ConfigParseError",
    "CredentialRetrievalError",
    "InvalidConfigError",
    "NoCredentialsError",
    "PartialCredentialsError",
    "ProfileNotFound",
    "SSOTokenLoadError",
    "TokenRetrievalError",
    "UnauthorizedSSOTokenError",
}
"""Of the client: classes by name, as nothing of it is imported here."""
_PLACES = "settings credentialsFile and profile, or a role of the service's own pod, would be right"


def code(answer: Mapping[str, Any]) -> str:
    """Return the code of a refusal."""
    return str(answer.get("Error", {}).get("Code", ""))


def translated(answer: Mapping[str, Any], location: str) -> ProviderError:
    """Return the error for a refusal of AWS, as its client has read it."""
    found, about = code(answer), answer.get("ResponseMetadata", {})
    text = f"{location}: {answer.get('Error', {}).get('Message') or 'no reason is given'} ({found})"
    status = int(about.get("HTTPStatusCode") or 0)
    if found in _PASSING or status == 429 or status >= 500:
        return RetryLater(text, _seconds(about.get("HTTPHeaders", {}).get("retry-after", "")))
    if found in _LIMITS:
        return AccountLimitReached(text)
    if found in _CAPACITY:
        return NoCapacity(text)
    if found in _DENIED or status in (401, 403):
        return AccessDenied(text)
    return RetryLater(text) if found == IN_USE else CallInvalid(text)


def of_client(error: Exception, location: str) -> ProviderError:
    """Return the error for what the client itself refuses, or could not do."""
    text = f"{location}: {error}"
    if type(error).__name__ in _NO_CREDENTIALS:
        return AccessDenied(f"{text}; {_PLACES}")
    if type(error).__name__ == "ParamValidationError":
        return CallInvalid(text)
    return RetryLater(text)


def _seconds(text: str) -> float:
    return float(text) if text.isdecimal() else 0.0
