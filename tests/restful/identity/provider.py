"""An OpenID provider in this process: it checks what a client sends, and answers as it is asked to."""

import base64
import hashlib
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
from joserfc import jwt
from joserfc.jwk import ECKey, Key

from restful.identity.oidc import Provider

ISSUER = "https://idp.example"
PROVIDER = Provider(ISSUER, "mc", "client's secret at the provider", "https://mc.example/callback")
KEY = ECKey.generate_key("P-256", {"kid": "one", "alg": "ES256", "use": "sig"}, private=True)


@dataclass
class FakeProvider:
    """Its users log in as `claims` state; what is sent to it is in `asked`."""

    now: float
    claims: dict[str, Any] = field(
        default_factory=lambda: {"sub": "248289761001", "preferred_username": "Dora"}
    )
    metadata: dict[str, Any] = field(default_factory=dict)
    key: Key = field(default_factory=lambda: KEY)
    header: dict[str, Any] = field(default_factory=dict)
    keys: list[Any] = field(default_factory=lambda: [KEY.as_dict(private=False)])
    token: str | None = None
    """The ID token, in place of a signed one."""
    sent: dict[str, list[str]] = field(default_factory=dict)
    """The query of the browser that came to log in."""

    def log_in(self, url: str) -> dict[str, str]:
        """Return what a browser comes back with."""
        self.sent = parse_qs(urlsplit(url).query)
        return {"code": "good code", "state": self.sent["state"][0], "iss": ISSUER}

    def client(self) -> httpx2.AsyncClient:
        """Return a client that reaches it."""
        return httpx2.AsyncClient(transport=httpx2.MockTransport(self._answer))

    def _answer(self, request: httpx2.Request) -> httpx2.Response:
        match request.url.path:
            case "/.well-known/openid-configuration":
                return httpx2.Response(200, json={**self._metadata(), **self.metadata})
            case "/jwks":
                return httpx2.Response(200, json={"keys": self.keys})
            case "/token":
                return self._token(parse_qs(request.content.decode()), request.headers["authorization"])
            case _:
                return httpx2.Response(404)

    def _token(self, form: dict[str, list[str]], client: str) -> httpx2.Response:
        challenge = hashlib.sha256(form["code_verifier"][0].encode()).digest()
        good = (
            base64.urlsafe_b64encode(challenge).rstrip(b"=").decode() == self.sent["code_challenge"][0]
            and form["code"] == ["good code"]
            and form["redirect_uri"] == self.sent["redirect_uri"]
            and base64.b64decode(client[6:]).decode() == f"mc:{PROVIDER.client_secret}"
        )
        return httpx2.Response(200, json={"id_token": self._id_token()}) if good else httpx2.Response(400)

    def _id_token(self) -> str:
        if self.token is not None:
            return self.token
        claims = {
            "iss": ISSUER,
            "aud": "mc",
            "exp": int(self.now) + 300,
            "iat": int(self.now),
            "nonce": self.sent["nonce"][0],
            **self.claims,
        }
        header = {"alg": "ES256", "kid": "one", **self.header}
        return jwt.encode(header, claims, self.key, algorithms=["ES256", "HS256"])

    @staticmethod
    def _metadata() -> dict[str, Any]:
        return {
            "issuer": ISSUER,
            "authorization_endpoint": f"{ISSUER}/authorize",
            "token_endpoint": f"{ISSUER}/token",
            "jwks_uri": f"{ISSUER}/jwks",
        }
