"""The lines that an instance and a malleable program exchange, as records: protocol version 1.

A line is one JSON object and a newline. Unknown fields are ignored, so that a later version may add some. A
field that has a default here may be left out.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

from minicluster.malleable.credentials import VERSION
from minicluster.malleable.errors import ProtocolError

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

LINE_LIMIT = 64 * 1024
"""Bytes of a line to the instance."""


class Member(NamedTuple):
    """A worker of a malleable job."""

    task: int
    """The worker's number."""
    host: str
    address: str = ""
    """Of the program's own data channel there, as free text."""


@dataclass(frozen=True)
class Hello:
    """Instance → every new connection: the nonce for its proof."""

    type: ClassVar[str] = "hello"
    version: int
    nonce: str


@dataclass(frozen=True)
class Register:
    """Program → instance: it accepts orders from now on. `mac` proves ("register", job)."""

    type: ClassVar[str] = "register"
    version: int
    job: str
    mac: str


@dataclass(frozen=True)
class Join:
    """Joining worker → instance. `mac` proves ("join", job, task, order, address)."""

    type: ClassVar[str] = "join"
    version: int
    job: str
    mac: str
    task: int
    """Its number in the job."""
    order: int
    """The number of the order for which it was started."""
    address: str = ""
    """Where other tasks reach it; empty: nowhere."""


@dataclass(frozen=True)
class Registered:
    """Instance → program: sizes are numbers of workers."""

    type: ClassVar[str] = "registered"
    size: int
    min: int
    max: int
    workers: tuple[Member, ...] = ()


@dataclass(frozen=True)
class Grow:
    """Instance → program: it offers one worker on each of these hosts; `size` is the size with them."""

    type: ClassVar[str] = "grow"
    order: int
    hosts: tuple[str, ...]
    size: int


@dataclass(frozen=True)
class Shrink:
    """Instance → program: give up `count` workers of the program's choice, but not the first one."""

    type: ClassVar[str] = "shrink"
    order: int
    count: int
    size: int
    prefer: tuple[int, ...] = ()
    """Workers in the order in which the instance would like to have them back; (): it does not mind."""


@dataclass(frozen=True)
class Accept:
    """Program → instance: it works on the order. Sent once more, the time limit begins anew."""

    type: ClassVar[str] = "accept"
    order: int


@dataclass(frozen=True)
class Refuse:
    """Program → instance: the size stays."""

    type: ClassVar[str] = "refuse"
    order: int
    reason: str = ""


@dataclass(frozen=True)
class Joined:
    """Instance → program: all workers of an order to grow have joined. Instance → worker: it has joined."""

    type: ClassVar[str] = "joined"
    order: int = 0
    workers: tuple[Member, ...] = ()


@dataclass(frozen=True)
class Done:
    """Program → instance: the workers have been taken on (acknowledgement of growth)."""

    type: ClassVar[str] = "done"
    order: int


@dataclass(frozen=True)
class Release:
    """Program → instance: these workers have no data any more and may be ended."""

    type: ClassVar[str] = "release"
    order: int
    workers: tuple[int, ...]


@dataclass(frozen=True)
class Released:
    """Instance → program: the workers have ended and their resources are free.

    With order 0 no order was for it: `workers` were lost, and are not counted any more.
    """

    type: ClassVar[str] = "released"
    order: int
    workers: tuple[int, ...] = ()


@dataclass(frozen=True)
class Expired:
    """Instance → program: this order is over, at the size before it."""

    type: ClassVar[str] = "expired"
    order: int
    reason: str = ""


@dataclass(frozen=True)
class Progress:
    """Program → instance: the fraction of its work that is done, from 0 to 1."""

    type: ClassVar[str] = "progress"
    share: float


@dataclass(frozen=True)
class Deregister:
    """Program → instance: no orders from now on, for good."""

    type: ClassVar[str] = "deregister"


@dataclass(frozen=True)
class Error:
    """Instance → the sender of a line that violates the protocol."""

    type: ClassVar[str] = "error"
    reason: str


if TYPE_CHECKING:  # as Flux's own Python may be older than 3.10
    ToInstance: TypeAlias = Register | Join | Accept | Refuse | Done | Release | Progress | Deregister
    ToProgram: TypeAlias = Hello | Registered | Grow | Shrink | Joined | Released | Expired | Error

_TO_INSTANCE = {
    kind.type: kind for kind in (Register, Join, Accept, Refuse, Done, Release, Progress, Deregister)
}
_TO_PROGRAM = {
    kind.type: kind for kind in (Hello, Registered, Grow, Shrink, Joined, Released, Expired, Error)
}


_ADDED = frozenset({"prefer"})
"""Fields that came after release 0.1.0: without a value they are left out, as it does."""


def encode(message: ToInstance | ToProgram) -> bytes:
    """Return the line."""
    content: dict[str, Any] = {"type": message.type}
    for field in fields(message):
        value = getattr(message, field.name)
        if value or field.name not in _ADDED:
            content[field.name] = _plain(value)
    return json.dumps(content, separators=(",", ":")).encode() + b"\n"


def _plain(value: Any) -> Any:
    return [_plain_member(item) for item in value] if isinstance(value, tuple) else value


def _plain_member(item: Any) -> Any:
    if not isinstance(item, Member):
        return item
    return {"task": item.task, "host": item.host, **({"address": item.address} if item.address else {})}


def parse_to_instance(line: bytes | None) -> ToInstance:
    """Read a line of a program or worker (None: one over the limit). Raises ProtocolError."""
    if line is None:
        raise ProtocolError(f"a line is longer than {LINE_LIMIT} bytes")
    message: ToInstance = _parse(line, _TO_INSTANCE)
    version = getattr(message, "version", VERSION)
    if version != VERSION:
        raise ProtocolError(f"{message.type}: version {version} is not spoken here, {VERSION} is")
    return message


def parse_to_program(line: bytes) -> ToProgram:
    """Read a line of the instance. Raises ProtocolError."""
    message: ToProgram = _parse(line, _TO_PROGRAM)
    return message


def _parse(line: bytes, kinds: dict[str, Any]) -> Any:
    try:
        content = json.loads(line)
    except (ValueError, RecursionError):
        raise ProtocolError("a line is not JSON") from None
    if not isinstance(content, dict):
        raise ProtocolError("a line is not a JSON object")
    name = content.get("type")
    kind = kinds.get(name) if isinstance(name, str) else None
    if kind is None:
        raise ProtocolError(f"unknown type {str(name)[:40]!r}; known are {', '.join(kinds)}")
    values = {}
    for field in fields(kind):
        if field.name not in content and field.name in kind.__dict__:
            continue  # the default counts
        values[field.name] = _value(f"{name}: {field.name}", str(field.type), content.get(field.name))
    return kind(**values)


def _value(where: str, kind: str, value: object) -> object:
    expected, check = _KINDS[kind]
    if not check(value):
        raise ProtocolError(f"{where}: expected {expected}, found {json.dumps(value)[:40]}")
    return tuple(map(_item, value)) if isinstance(value, list) else value


def _item(value: Any) -> object:
    return (
        Member(value["task"], value["host"], value.get("address", "")) if isinstance(value, dict) else value
    )


def _is_text(value: object) -> bool:
    return isinstance(value, str)


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 53


def _is_fraction(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= 1  # not NaN


def _is_member(value: object) -> bool:
    return (
        isinstance(value, dict)
        and _is_whole(value.get("task"))
        and _is_text(value.get("host"))
        and _is_text(value.get("address", ""))
    )


def _is_list(item: Callable[[object], bool]) -> Callable[[object], bool]:
    return lambda value: isinstance(value, list) and all(item(each) for each in value)


_KINDS: dict[str, tuple[str, Callable[[object], bool]]] = {
    "int": ("a whole number", _is_whole),
    "str": ("a text", _is_text),
    "float": ("a number from 0 to 1", _is_fraction),
    "tuple[int, ...]": ("a list of whole numbers", _is_list(_is_whole)),
    "tuple[str, ...]": ("a list of texts", _is_list(_is_text)),
    "tuple[Member, ...]": ("a list of workers", _is_list(_is_member)),
}
