"""The CURVE certificate that all brokers of a MiniCluster share.

Source: flux-keygen(1), and the ZPL file form as flux-core reads it. pyzmq is imported in this module only,
once a pair is made or checked; its own `zmq.auth.create_certificates` writes a form that Flux rejects.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from broker_config.errors import CurveError

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_LINE = 254
"""The longest line that Flux's parser reads as a whole, in bytes without its end."""

_Z85 = re.compile(r"[0-9a-zA-Z.\-:+=^!/*?&<>()\[\]{}@%$#]{40}")
_KEY = re.compile(r"[A-Za-z0-9.-]+")
_ILLEGAL = re.compile(r"[^A-Za-z0-9.\-:+=^!/*?&<>()\[\]{}@%$# \t]")
_SETTING = re.compile(r'([^=]*)=\s*"(.*)"')
_SECTIONS = ("metadata", "curve")


@dataclass(frozen=True, slots=True)
class KeyPair:
    """A CURVE key pair as Z85 text, 40 characters each. The secret is never in a message or a log."""

    public: str
    secret: str = field(repr=False)


def generate() -> KeyPair:
    """Return a new pair. This is the one impure function of this package: it uses the system's randomness."""
    import zmq  # noqa: PLC0415 - most commands make no pair

    public, secret = zmq.curve_keypair()
    return KeyPair(public.decode(), secret.decode())


def render(name: str, keys: KeyPair) -> str:
    """Return the certificate's text; `name` is valid as a Kubernetes name. Raises CurveError."""
    text = (
        f'metadata\n    name = "{name}"\n'
        f'curve\n    public-key = "{keys.public}"\n    secret-key = "{keys.secret}"\n'
    )
    decode(text)
    return text


def decode(text: str) -> KeyPair:
    """Read the pair of a certificate's text, checked as by Flux. Raises CurveError with line and rule."""
    import zmq  # noqa: PLC0415 - few documents have a certificate

    sections = _sections(text)
    curve = sections.get("curve")
    if curve is None:
        raise CurveError("the CURVE certificate has no section 'curve' with public-key and secret-key")
    if "name" not in sections.get("metadata", {}):
        raise CurveError(
            "the CURVE certificate has no name: Flux wants `name = \"…\"` in the section 'metadata'"
        )
    keys = KeyPair(_z85(curve, "public-key"), _z85(curve, "secret-key"))
    if zmq.curve_public(keys.secret.encode()).decode() != keys.public:
        raise CurveError("the CURVE certificate's public-key does not belong to its secret-key")
    return keys


def _sections(text: str) -> dict[str, dict[str, str]]:
    sections: dict[str, dict[str, str]] = {}
    current = ""
    for number, line in enumerate(text.split("\n"), 1):
        if len(line.encode(errors="surrogateescape")) > MAX_LINE:
            raise _error(number, f"is longer than {MAX_LINE} bytes")
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if line[0] not in " \t":
            current = line.strip()
            if current not in _SECTIONS:
                raise _error(number, "must be `metadata`, `curve`, or indented: sections begin at the margin")
            sections.setdefault(current, {})
        elif not current:
            raise _error(number, "comes before any section: `metadata` or `curve` must stand above it")
        else:
            key, value = _setting(number, line, current)
            if current == "metadata" and key in sections[current]:
                raise _error(number, f"repeats the key {key}")
            sections[current][key] = value
    return sections


def _setting(number: int, line: str, section: str) -> tuple[str, str]:
    match = _SETTING.fullmatch(line.strip())
    if not match:
        raise _error(number, 'must read key = "value", the value in double quotes')
    key, value = match[1].rstrip(), match[2]
    if not _KEY.fullmatch(key):
        raise _error(number, f"has the key {key!r}: it may hold letters, digits, '-' and '.' only")
    if section == "curve" and key not in ("public-key", "secret-key"):
        raise _error(number, f"has the key {key!r}: the section 'curve' holds public-key and secret-key only")
    if illegal := _ILLEGAL.search(value):
        raise _error(number, f"has {illegal[0]!r} in the value of {key}, which Flux does not accept")
    return key, value


def _z85(curve: Mapping[str, str], key: str) -> str:
    value = curve.get(key)
    if value is None:
        raise CurveError(f"the CURVE certificate has no {key} in the section 'curve'")
    if not _Z85.fullmatch(value):
        raise CurveError(f"the CURVE certificate's {key} is not 40 characters of Z85")
    return value


def _error(number: int, problem: str) -> CurveError:
    return CurveError(f"line {number} of the CURVE certificate {problem}")
