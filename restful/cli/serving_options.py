"""Options that all commands that serve have: where, with which certificate, behind which proxies."""

from __future__ import annotations

from typing import Annotated

import typer

LISTEN = "127.0.0.1:8080"
"""Where they serve by default."""
CertificateOption = Annotated[
    str, typer.Option("--tls-cert", metavar="FILE", help="The certificate with its chain, PEM.")
]
KeyOption = Annotated[str, typer.Option("--tls-key", metavar="FILE", help="Its key, PEM.")]
ProxiesOption = Annotated[
    list[str] | None,
    typer.Option(
        "--behind-proxy",
        metavar="ADDRESS",
        help="A proxy in front, or its network, which speaks TLS with users; may be repeated.",
    ),
]
