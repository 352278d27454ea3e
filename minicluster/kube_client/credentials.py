"""Where an API server is, and how a user of it proves who they are."""

from __future__ import annotations

import base64
import ssl
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiCredentials:
    """The address of an API server and one user's credentials, as kopf.ConnectionInfo names them."""

    server: str
    """Its URL, such as `https://localhost:6443`."""
    ca_path: str | None = None
    """Authorities that may sign its certificate; None means those of this machine."""
    insecure: bool = False
    """Whether its certificate is not checked."""
    username: str | None = None
    password: str | None = field(default=None, repr=False)
    scheme: str | None = None
    """Of the token, such as `Bearer`."""
    token: str | None = field(default=None, repr=False)
    certificate_path: str | None = None
    private_key_path: str | None = None
    default_namespace: str | None = None
    proxy_url: str | None = None

    def headers(self) -> dict[str, str]:
        """Return the header `Authorization`: a user with a password, else a token; none without either."""
        if self.username and self.password:
            both = base64.b64encode(f"{self.username}:{self.password}".encode()).decode()
            return {"Authorization": f"Basic {both}"}
        return {"Authorization": f"{self.scheme or 'Bearer'} {self.token}"} if self.token else {}

    def ssl_context(self) -> ssl.SSLContext | bool:
        """Return what checks the server's certificate, and shows the user's; True where nothing is encrypted.

        To read this machine's authorities takes longer than a request.
        """
        if self.server.startswith("http:") and not self.proxy_url:
            return True
        context = ssl.create_default_context(cafile=self.ca_path)
        if self.certificate_path and self.private_key_path:
            context.load_cert_chain(self.certificate_path, self.private_key_path)
        if self.insecure:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        return context
