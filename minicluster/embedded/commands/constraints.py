"""`--requires`: RFC 35 constraint syntax to an RFC 31 constraint object."""

from __future__ import annotations

import re
from typing import Any

from minicluster.embedded.commands.console import fail

_TOKENS = re.compile(r"\s*(?:(?P<sign>[()|&])|(?P<word>[^\s()|&]+))|\s+$")
_OPERATORS = {
    "properties": "properties",
    "host": "hostlist",
    "hosts": "hostlist",
    "hostlist": "hostlist",
    "rank": "ranks",
    "ranks": "ranks",
}
_JOINS = {"or": "or", "|": "or", "||": "or", "and": "and", "&": "and", "&&": "and"}


def parse(text: str) -> dict[str, Any]:
    """Read a constraint such as `host:a[0-3] and not (gpu | rank:7)`; ends the command where it is wrong."""
    reader = _Reader(text)
    constraint = reader.either()
    if reader.tokens:
        reader.wrong(f"Unexpected '{reader.tokens[0]}'")
    return constraint


class _Reader:
    """Recursive descent: either = both {or both}; both = one {[and] one}; one = [not] ( either ) | term."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = [found["sign"] or found["word"] for found in _TOKENS.finditer(text) if found.lastgroup]

    def wrong(self, problem: str) -> None:
        fail(f"--requires='{self.text}': {problem} in '{self.text}'")

    def _join(self) -> str | None:
        return _JOINS.get(self.tokens[0]) if self.tokens else None

    def _skip_join(self) -> None:
        sign = self.tokens.pop(0)
        if self.tokens[:1] == [sign]:
            self.tokens.pop(0)

    def either(self) -> dict[str, Any]:
        terms = [self._both()]
        while self._join() == "or":
            self._skip_join()
            terms.append(self._both())
        return _merged("or", terms)

    def _both(self) -> dict[str, Any]:
        terms = [self._one()]
        while self.tokens and self.tokens[0] != ")" and self._join() != "or":
            if self._join() == "and":
                self._skip_join()
            terms.append(self._one())
        return _merged("and", terms)

    def _one(self) -> dict[str, Any]:
        if not self.tokens:
            self.wrong("Unexpected end of input")
        token = self.tokens.pop(0)
        if token in ("not", "-"):
            return {"not": [self._one()]}
        if token == "(":  # noqa: S105 - a parenthesis
            inner = self.either()
            if not self.tokens:
                self.wrong("Missing ')'")
            self.tokens.pop(0)
            return inner
        if token in _JOINS or token == ")":  # noqa: S105
            self.wrong(f"Unexpected '{token}'")
        if token.startswith("-"):
            self.tokens.insert(0, token[1:])
            return {"not": [self._one()]}
        return self._term(token)

    def _term(self, token: str) -> dict[str, Any]:
        operator, colon, argument = token.partition(":")
        if not colon:
            return {"properties": [token]}
        if operator not in _OPERATORS:
            self.wrong(f"Unknown constraint operator '{operator}'")
        if not argument:
            fail(f"--requires='{self.text}': Missing argument to token '{token}'")
        if operator == "properties":
            return {"properties": argument.split(",")}
        return {_OPERATORS[operator]: [argument]}


def _merged(operator: str, terms: list[dict[str, Any]]) -> dict[str, Any]:
    """Join terms; properties that all must hold become one list, as Flux writes them."""
    if len(terms) == 1:
        return terms[0]
    if operator == "or":
        return {"or": terms}
    kept: list[dict[str, Any]] = []
    for term in terms:
        if "properties" in term and kept and "properties" in kept[-1]:
            kept[-1] = {"properties": kept[-1]["properties"] + term["properties"]}
        else:
            kept.append(term)
    return kept[0] if len(kept) == 1 else {"and": kept}
