"""`--requires`: constraints on nodes, from RFC 35 syntax to an RFC 31 constraint object.

It has terms PROPERTY, host:HOSTS and rank:RANKS, which must all hold; `-` or `not` before a term negates it.
"""

from __future__ import annotations

from typing import Any

from minicluster.embedded.commands.console import fail

_OPERATORS = {
    "host": "hostlist",
    "hosts": "hostlist",
    "hostlist": "hostlist",
    "rank": "ranks",
    "ranks": "ranks",
}


def parse(text: str) -> dict[str, Any]:
    """Parse a constraint such as `host:a[0-3] and not gpu`; end the command where it is wrong."""
    words = [word for word in text.replace("&", " ").split() if word != "and"]
    terms: list[dict[str, Any]] = []
    while words:
        word = words.pop(0)
        negated = word == "not" or word.startswith("-")
        if word == "not":
            word = words.pop(0) if words else ""
        term = _term(word.removeprefix("-"), text)
        terms.append({"not": [term]} if negated else term)
    if not terms:
        fail(f"--requires='{text}': Unexpected end of input in '{text}'")
    return terms[0] if len(terms) == 1 else {"and": terms}


def _term(word: str, text: str) -> dict[str, Any]:
    operator, colon, argument = word.partition(":")
    if not colon:
        if not word:
            fail(f"--requires='{text}': Unexpected end of input in '{text}'")
        if set(word) & set("|()"):
            fail(f"--requires='{text}': '{word}' is not in the embedded instance", 2)
        return {"properties": [word]}
    if operator not in _OPERATORS:
        fail(f"--requires='{text}': Unknown constraint operator '{operator}' in '{text}'")
    if not argument:
        fail(f"--requires='{text}': Missing argument to token '{word}'")
    return {_OPERATORS[operator]: [argument]}
