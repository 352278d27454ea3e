"""An account of Google Cloud: its token service, whose rights are checked, and the form of errors.

The key of its service account is a real one, and the token service checks what is signed with it.
"""

from __future__ import annotations

import base64
import functools
import json
import secrets
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from burst.rehearsal.cloud import CloudFault
from burst.rehearsal.server import NO_ANSWER, CloudAnswer, CloudRequest, CloudRoute, CloudServer

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from burst.rehearsal.cloud import FaultOrder, RehearsedCloud

EMAIL = "bursts@rehearsal.iam.gserviceaccount.com"
PROJECT = "rehearsal"
TOKEN_SECONDS = 3600.0


def refusal(status: int, reason: str, message: str, rpc: str = "", after: float = 0.0) -> CloudAnswer:
    """Return an error as Google's services write it, its status in the words of gRPC."""
    error: dict[str, object] = {
        "code": status,
        "message": message,
        "errors": [{"message": message, "domain": "global", "reason": reason}],
    }
    if rpc:
        error["status"] = rpc
    headers = {"Retry-After": f"{after:.0f}"} if after else {}
    return CloudAnswer(status, {"error": error}, headers)


def fault_answer(order: FaultOrder | None, call: str) -> CloudAnswer | None:
    """Return the answer of a call that is not served; None: it is."""
    match order.fault if order is not None else None:
        case CloudFault.UNAVAILABLE:
            return refusal(503, "backendError", "The service is currently unavailable.", "UNAVAILABLE")
        case CloudFault.THROTTLED:
            message = f"Quota exceeded for quota metric 'Queries' of service, method {call}"
            assert order is not None  # noqa: S101 - as matched
            return refusal(429, "rateLimitExceeded", message, "RESOURCE_EXHAUSTED", order.after)
        case CloudFault.DENIED:
            message = f"Required '{call}' permission for 'projects/{PROJECT}'"
            return refusal(403, "forbidden", message, "PERMISSION_DENIED")
        case _:
            return None


@functools.cache
def _key() -> rsa.RSAPrivateKey:
    """Return the key of all accounts of this process: a short one, as it guards nothing and is often read."""
    return rsa.generate_private_key(public_exponent=65537, key_size=1024)  # noqa: S505 - as above


@dataclass
class FakeGoogleAccount:
    """One project with one service account."""

    now: Callable[[], float]
    lacking: set[str] = field(default_factory=set)
    """Permissions that the account does not have, by name."""
    is_revoked: bool = False
    """Whether its key has been deleted: there are no new tokens, and the old ones are refused."""
    tokens: dict[str, float] = field(default_factory=dict)
    """Until when each is good."""
    _key: rsa.RSAPrivateKey = field(default_factory=_key, repr=False)

    def write_key(self, path: Path, url: str) -> Path:
        """Write the file of a service account whose tokens are got from a server; return its path."""
        pem = self._key.private_bytes(
            serialization.Encoding.PEM,
            serialization.PrivateFormat.PKCS8,
            serialization.NoEncryption(),
        ).decode()
        content = {
            "type": "service_account",
            "project_id": PROJECT,
            "private_key_id": "rehearsal",
            "private_key": pem,
            "client_email": EMAIL,
            "client_id": "1",
            "token_uri": f"{url}/token",
        }
        path.touch(mode=0o600)
        path.write_text(json.dumps(content), encoding="utf-8")
        path.chmod(0o400)
        return path

    def routes(self) -> list[CloudRoute]:
        """Return what the token service and the service of rights answer."""
        return [
            CloudRoute("POST", "/token", self._token),
            CloudRoute("POST", r"/v1/projects/([\w.:-]+):testIamPermissions", self._test_permissions),
        ]

    def unproven(self, request: CloudRequest) -> CloudAnswer | None:
        """Return why a request is not served that has no token which is good now."""
        token = request.headers.get("authorization", "").removeprefix("Bearer ")
        if not self.is_revoked and self.tokens.get(token, 0.0) > self.now():
            return None
        message = "Request had invalid authentication credentials. Expected OAuth 2 access token."
        return refusal(401, "authError", message, "UNAUTHENTICATED")

    def _token(self, request: CloudRequest) -> CloudAnswer:
        given = parse_qs(request.body.decode())
        if self.is_revoked or not self._is_signed(given.get("assertion", [""])[0]):
            return CloudAnswer(400, {"error": "invalid_grant", "error_description": "Invalid JWT Signature."})
        token = secrets.token_urlsafe(24)
        self.tokens[token] = self.now() + TOKEN_SECONDS
        body = {"access_token": token, "expires_in": int(TOKEN_SECONDS), "token_type": "Bearer"}
        return CloudAnswer(body=body)

    def _is_signed(self, assertion: str) -> bool:
        signed, _, signature = assertion.rpartition(".")
        padded = signature + "=" * (-len(signature) % 4)
        try:
            self._key.public_key().verify(
                base64.urlsafe_b64decode(padded), signed.encode(), padding.PKCS1v15(), hashes.SHA256()
            )
        except (InvalidSignature, ValueError):
            return False
        return True

    def _test_permissions(self, request: CloudRequest) -> CloudAnswer:
        if refused := self.unproven(request):
            return refused
        asked = request.json()["permissions"]
        return CloudAnswer(body={"permissions": [each for each in asked if each not in self.lacking]})


@dataclass
class GoogleFrontend:
    """What the services of one project have in common: tokens, faults, and the log of calls."""

    cloud: RehearsedCloud
    account: FakeGoogleAccount

    def served(
        self, call: str, work: Callable[[CloudRequest, CloudFault | None], CloudAnswer]
    ) -> Callable[[CloudRequest], CloudAnswer]:
        """Return what answers a call, by a function that gets the fault of its effect, if it has one."""

        def answer(request: CloudRequest) -> CloudAnswer:
            if refused := self.account.unproven(request):
                return refused
            order = self.cloud.called(call)
            if refused := fault_answer(order, call):
                return refused
            fault = order.fault if order is not None else None
            done = work(request, fault)
            return NO_ANSWER if fault is CloudFault.ANSWER_LOST else done

        return answer


def google_server(routes: Sequence[CloudRoute]) -> CloudServer:
    """Return a server that answers as all of Google's services do, each by the path that is its own."""

    def unknown(request: CloudRequest) -> CloudAnswer:
        message = f"{request.method} {request.path} is not rehearsed"
        return refusal(404, "notFound", message, "NOT_FOUND")

    return CloudServer(routes, unknown)


def absent(kind: str, name: str) -> CloudAnswer:
    """Return what is answered where something is not there."""
    return refusal(404, "notFound", f"The resource '{kind}/{name}' was not found", "NOT_FOUND")


def number(value: Any) -> int:
    """Return a number of 64 bits, which JSON has as a text."""
    return int(value or 0)
