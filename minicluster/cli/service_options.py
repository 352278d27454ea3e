"""The options that the operator and the metrics adapter share, and their parsing."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

LogFormatOption = Annotated[Literal["text", "json"], typer.Option(help="One line, or one object, a fact.")]
LogLevelOption = Annotated[
    Literal["debug", "info", "warning", "error"], typer.Option(help="What is worth a line.")
]

ListenOption = Annotated[
    str,
    typer.Option(
        metavar="ADDRESS:PORT", help="Where metrics, /healthz and /readyz are served; port 0: a free one."
    ),
]
ANY_PORT = "127.0.0.1:0"
"""A free port of this machine: on a laptop a fixed one may be taken. The service logs which one it is."""


def address(text: str, option: str = "--listen") -> tuple[str, int]:
    """Return address and port of a text such as `127.0.0.1:8080`, `:8080` or `[::1]:8080`; port 0 is any.

    Raises BadParameter, with an example.
    """
    name, colon, port = text.rpartition(":")
    if not colon or not is_port(port, least=0) or (":" in name and "[" not in name):
        message = f"{text}: needed is ADDRESS:PORT, such as 127.0.0.1:8080; :8080 means every address"
        raise typer.BadParameter(message, param_hint=option)
    return name.strip("[]"), int(port)


def is_port(text: str, least: int = 1) -> bool:
    """Whether a text is the number of a port."""
    return text.isdecimal() and least <= int(text) <= 65535
