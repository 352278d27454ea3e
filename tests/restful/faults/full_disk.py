"""A service on a disk that is full, as a program in a mount namespace of its own: prints what became of it.

    python -m tests.restful.faults.full_disk FOLDER URI

FOLDER is on a small disk; URI is that of an embedded instance.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import sqlite3
import sys
from pathlib import Path
from typing import Any

from minicluster.instance.connection import connect
from restful import audit
from restful.clusters.spec import ClusterSpec
from tests.restful.jobs.service import BASE, Service, opened, within

PIECE = 4096


def fill(folder: Path) -> None:
    """Leave no room."""
    with contextlib.suppress(OSError), (folder / "filler").open("ab", buffering=0) as file:
        while True:
            file.write(bytes(min(PIECE, max(1, shutil.disk_usage(folder).free))))


async def submitted(here: Service, name: str, command: tuple[str, ...] = ("true",)) -> Any:
    body = {"command": list(command), "name": name}
    headers = {"Idempotency-Key": name}
    return await here.ask("alice", "POST", "/jobs", json=body, headers=headers)


async def until_refused(here: Service, folder: Path) -> tuple[Any, list[str]]:
    """Submit until there is no room; return the refusal, and the jobs that were taken before."""
    taken: list[str] = []
    while True:
        fill(folder)
        answer = await submitted(here, f"disk-full{len(taken)}")
        if answer.status_code != 201:
            return answer, taken
        taken.append(f"disk-full{len(taken)}")


async def tried(folder: Path, uri: str) -> dict[str, Any]:
    """Return what the service answered while there was no room, and what it has afterwards."""
    spec = ClusterSpec("mc", lambda: connect(uri, "embedded"), base=BASE)
    gate = f"while [ ! -e {folder.parent}/gate ]; do sleep 0.05; done"
    async with opened(folder, spec) as here:
        running = (await submitted(here, "disk-running", ("sh", "-c", gate))).json()["id"]
        refused, taken = await until_refused(here, folder)
        (folder.parent / "gate").touch()
        read = await here.ask("alice", "GET", f"/jobs/{running}")
        alive = await here.ask("alice", "GET", "/healthz")
        (folder / "filler").unlink()
        await here.ended("alice", running)
        again = await submitted(here, f"disk-full{len(taken)}")
        listed = await here.ask("alice", "GET", "/jobs?name=disk-*&limit=500")
        async with here.services.database.read() as connection:
            broken = await audit.first_broken(connection)
    with contextlib.closing(sqlite3.connect(folder / "rest.db")) as connection:
        (whole,) = connection.execute("PRAGMA integrity_check").fetchone()
    return {
        "refused": [refused.status_code, refused.headers.get("Retry-After"), refused.json()],
        "while full": [read.status_code, alive.status_code],
        "again": again.status_code,
        "listed": sorted(job["name"] for job in listed.json()["jobs"]),
        "expected": sorted([*taken, f"disk-full{len(taken)}", "disk-running"]),
        "whole": [whole, broken],
    }


if __name__ == "__main__":
    print(json.dumps(within(tried(Path(sys.argv[1]), sys.argv[2]))))
