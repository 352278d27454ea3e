"""Limits on the size and depth of a TOML text, checked before a parser reads it.

The time of tomllib grows with the square of the parts of a key: 200 kB of `a.a.a…` take a minute and 6 GB. It
calls itself for each nested bracket.
"""

from __future__ import annotations

import re

from broker_config.errors import BrokerTomlError

MAX_BYTES = 262_144
"""Bytes in UTF-8: a whole document must fit into 1.5 MB (etcd), and its ConfigMap into 1 MiB."""
MAX_PARTIAL = 16_384
"""Bytes of a text that is merged: it is written anew, with all its path before each table of its own."""
MAX_DOTS = 32
"""Dots in one key; no table of Flux has more than three."""
MAX_DEPTH = 32
"""Levels of nested brackets and braces; no table of Flux has more than three."""

# Strings and comments match as a whole, also unclosed ones, so that each character is read once.
_TOKEN = re.compile(
    r'"""(?:\\.?|[^\\])*?(?:"""|\Z)'
    r"|'''.*?(?:'''|\Z)"
    r'|"(?:\\.|[^"\\\n])*"?'
    r"|'[^'\n]*'?"
    r"|\#[^\n]*"
    r"|[\[\]{}.=,\n]",
    re.DOTALL,
)


def check(text: str) -> None:
    """Raise BrokerTomlError, with the position, if a parser would need much time or stack for `text`."""
    size = len(text.encode(errors="surrogatepass"))
    if size > MAX_BYTES:
        raise BrokerTomlError(f"broker.toml has {size} bytes; allowed are {MAX_BYTES}")
    depth = dots = 0
    for match in _TOKEN.finditer(text):
        found = match[0]
        depth = max(depth + _STEPS.get(found, 0), 0)
        dots = dots + 1 if found == "." else 0 if found in _ENDS else dots
        if depth > MAX_DEPTH:
            raise _error(text, match.start(), f"more than {MAX_DEPTH} brackets inside each other")
        if dots > MAX_DOTS:
            raise _error(text, match.start(), f"a key of more than {MAX_DOTS} dots")


def check_partial(text: str) -> None:
    """Raise BrokerTomlError if a text that is to be merged could be written only at great length."""
    size = len(text.encode(errors="surrogatepass"))
    if size > MAX_PARTIAL:
        raise BrokerTomlError(
            f"broker.toml has {size} bytes and no table [bootstrap]; what is merged may have {MAX_PARTIAL}"
        )


def _error(text: str, offset: int, problem: str) -> BrokerTomlError:
    return BrokerTomlError(f"broker.toml, line {text.count(chr(10), 0, offset) + 1}: {problem}")


_STEPS = {"[": 1, "{": 1, "]": -1, "}": -1}
_ENDS = frozenset("[]{}=,\n")
