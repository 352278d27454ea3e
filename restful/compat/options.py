"""Shell options as /v1 has them: `option_flags`, written "k=v,k=v", or an object of a JSON body. Pure."""

from __future__ import annotations

import json
import math
from typing import Any


def read(value: Any) -> tuple[dict[str, Any], list[str]]:
    """Return the options, and what is wrong with them."""
    pairs = _pairs(value) if isinstance(value, str) else value
    if not isinstance(pairs, dict):
        return {}, [f"Please provide option args as a dictionary, type {type(value).__name__} is invalid."]
    wrong = [
        f"Please provide keys without -o, {str(name)[:100]} is invalid."
        for name in pairs
        if str(name).startswith("-") or not str(name)
    ]
    return {str(name): _value(each) for name, each in pairs.items()}, wrong


def _pairs(text: str) -> dict[str, str]:
    """Return the pairs of a text; an option without a value is on, as with `flux submit -o`."""
    found: dict[str, str] = {}
    for word in text.split(","):
        name, equals, value = word.strip().partition("=")
        if name or equals:
            found[name] = value if equals else "1"
    return found


def _value(value: Any) -> Any:
    """Return a value as `flux submit -o` reads it: a number where it is one, else the text."""
    if not isinstance(value, str):
        return value
    try:
        found = json.loads(value)
    except (ValueError, RecursionError):
        return value
    return found if isinstance(found, int | float) and math.isfinite(found) else value
