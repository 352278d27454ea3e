"""Refusals in EKS's words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from burst.rehearsal.cloud import CloudFault
from burst.rehearsal.server import CloudAnswer

if TYPE_CHECKING:
    from collections.abc import Mapping

REFUSED: Mapping[CloudFault, tuple[int, str, str]] = {
    CloudFault.UNAVAILABLE: (503, "ServiceUnavailableException", "The service is unavailable."),
    CloudFault.THROTTLED: (429, "ThrottlingException", "Rate exceeded"),
    CloudFault.DENIED: (403, "ExpiredTokenException", "The security token included is expired"),
    CloudFault.QUOTA: (400, "ResourceLimitExceededException", "Maximum number of nodegroups reached"),
}
"""Status, code and message of what is not served."""


def refusal(status: int, code: str, message: str, after: float = 0.0) -> CloudAnswer:
    """Return a refusal in EKS's words."""
    headers = {"x-amzn-ErrorType": code, **({"Retry-After": f"{after:.0f}"} if after else {})}
    return CloudAnswer(status, {"message": message}, headers)
