"""What an operation may answer besides an object, and who may ask for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator


class Text(NamedTuple):
    """A whole answer, as it is sent; `kind` is its Content-Type."""

    body: str
    kind: str
    code: int = 200


class Pieces(NamedTuple):
    """An answer that comes piece by piece, each sent at once; closed when the client is gone."""

    pieces: Iterator[str]
    kind: str


class Audience:
    """Who may ask for a path: whom the door is for, besides them who may read metrics, or everybody."""

    DOOR = "door"
    METRICS = "metrics"
    ALL = "all"
