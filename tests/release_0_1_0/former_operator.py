"""What 0.1.0's operator makes of what another one left: a program for a folder with 0.1.0's code and tests.

It reads objects, instance and clocks from standard input, and prints conditions, commands, and the end.
"""

from __future__ import annotations

import copy
import json
import sys
from typing import Any

from tests.release_0_1_0 import adapters, scenes


async def _first_second(saved: dict[str, Any]) -> list[dict[str, Any]]:
    here = await adapters.restored_world(saved)
    await scenes._without_pods(adapters.archived(here))
    (found,) = (each for each in here.store.objects.values() if each["kind"] == "MiniCluster")
    await adapters.end_world(here)
    conditions: list[dict[str, Any]] = found["status"]["conditions"]
    return conditions


async def _commands(saved: dict[str, Any]) -> list[list[Any]]:
    """Return what the lead is told while no job ends, each with the second."""
    here = await adapters.restored_world(saved)
    instance = adapters.archived(here)
    found: list[list[Any]] = []
    for second in range(80):
        await instance.second()
        new = scenes.outcome(here)["orders"][len(found) :]
        found += [[second, *each] for each in new]
    await adapters.end_world(here)
    return found


def course(left: dict[str, Any]) -> dict[str, Any]:
    """Return the conditions after a second in which no pod comes up, the commands, and how it all ended."""
    parts = {"first": _first_second, "commands": _commands, "ended": scenes.ended}
    return {name: adapters.in_virtual_time(part(copy.deepcopy(left))) for name, part in parts.items()}


if __name__ == "__main__":
    json.dump(course(json.load(sys.stdin)), sys.stdout)
