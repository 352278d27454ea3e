"""Standard input's JSON objects, each with its keys in order and without resource limits.

Real Flux gives each job the limits of the process that submits it; in the embedded instance a task has its
broker's.
"""

from __future__ import annotations

import json
import sys
from typing import Any


def without_limits(value: Any) -> Any:
    """Leave out `rlimit`, and what is empty without it."""
    if not isinstance(value, dict):
        return value
    inner = {key: without_limits(each) for key, each in value.items() if key != "rlimit"}
    emptied = {key for key in ("shell", "options") if value.get(key) and not inner[key]}
    return {key: each for key, each in inner.items() if key not in emptied}


def objects(text: str) -> list[Any]:
    """Each of the objects that stand one behind the other."""
    found, decoder = [], json.JSONDecoder()
    while text := text.strip():
        value, end = decoder.raw_decode(text)
        found.append(value)
        text = text[end:]
    return found


if __name__ == "__main__":
    for each in objects(sys.stdin.read()):
        print(json.dumps(without_limits(each), sort_keys=True))
