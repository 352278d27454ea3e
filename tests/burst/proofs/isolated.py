"""A job that leaves its MiniCluster and comes back whole: its output, its exit code, its results.

Both own nodes are busy, so it has an instance of its own made by the provider `local`. It runs once there, by
the job list of that instance, whatever is killed here meanwhile.
"""

from __future__ import annotations

import hashlib
import os
import signal
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from burst.elsewhere.jobspecs import label_of
from minicluster.instance.connection import connect
from minicluster.instance.errors import InstanceError
from minicluster.instance.records import JobFilter
from minicluster.local import processes
from tests.burst.proofs.burst_machine import BURSTING, burst_machine
from tests.burst.proofs.facts import Facts
from tests.local.local_machine import engines

if TYPE_CHECKING:
    from collections.abc import Iterator

    from minicluster.instance.port import Instance
    from tests.burst.proofs.burst_machine import BurstMachine

ISOLATED = {**BURSTING, "join": False}
EXIT_CODE = 7
CHECKPOINT = 3.0
"""Seconds after which real Flux has kept what there was."""
WRITES = """\
yes 'to the standard output' | head -c {size}
yes 'and to that for errors' | head -c {size} >&2
head -c {size} /dev/urandom >{folder}/out.bin
stat -c %i {folder}/out.bin >{folder}/inode
touch {folder}/wrote
until test -e {folder}/end; do sleep 0.05; done
printf 'the end' && exit {code}"""


def expected(line: str, size: int) -> str:
    """Return what `yes` writes of a line, up to a size."""
    return (line * (size // len(line) + 1))[:size]


def instance_of(there: BurstMachine) -> Instance | None:
    """Connect to the instance of the burst, if it answers."""
    for socket in (there.services.state / "local-bursts").glob("mcb-*/r/0/local"):
        try:
            return connect(f"local://{socket}")
        except InstanceError:
            return None
    return None


def submissions(there: BurstMachine) -> list[int]:
    """Return the jobs of the burst that its own instance knows, in any state."""
    instance = instance_of(there)
    if instance is None:
        return []
    with instance:
        found = [job.id for job in instance.jobs.find(JobFilter(), limit=0)]
        users = instance.overview.attributes(found)
        return [job for job in found if label_of(users[job])]


def left(there: BurstMachine, name: str, size: int, *options: str) -> None:
    """Have a job run elsewhere: the own nodes are busy, and stay so."""
    there.up(hosts=0, bursting=ISOLATED, flux={"stateVolume": {"hostPath": str(there.folder / "kept")}})
    for busy in ("busy1", "busy2"):
        there.submit(busy, there.wait_for_file("go"), 1)
    there.services.until(lambda: there.tasks.begun("busy1", "busy2"), "the busy nodes")
    script = WRITES.format(size=size, folder=there.folder, code=EXIT_CODE)
    words = ("-N1", "-n1", "-x", "-t10m", f"--job-name={name}", f"--cwd={there.folder}", "--burstable")
    there.machine.good("submit", "mc", *words, *options, "--", "sh", "-c", script)


def stand_in(there: BurstMachine, name: str) -> dict[str, Any]:
    """Return the row of the latest job of a name that is not its original."""
    rows = [row for row in there.machine.rows("jobs", "mc", "--all") if row["name"] == name]
    return max(rows, key=lambda row: float(row.get("submitted") or 0.0), default={})


def prove(there: BurstMachine, facts: Facts, *, size: int, kills: bool) -> None:
    """Prove it with so many bytes of each stream and of the results."""
    left(there, "far", size, "--results", "out.bin")
    there.services.serve()
    there.services.until((there.folder / "wrote").exists, "what the job writes elsewhere")
    facts.equal(len(submissions(there)), 1, "submissions elsewhere")
    [burst] = there.services.bursts()
    shown = f"runs elsewhere; burst {burst['burst']} of {burst['provider']}"
    facts.equal(stand_in(there, "far")["info"], shown, "what `minicluster jobs` shows of the stand-in")
    if kills:
        for number, kill in enumerate(_kills(there)):
            facts.figure(f"killed: {kill}")
            facts.equal(len(submissions(there)), 1, f"submissions elsewhere after kill {number}")
    digest = hashlib.sha256((there.folder / "out.bin").read_bytes()).hexdigest()
    there.touch("end")
    rows = there.services.until_no_burst()
    facts.equal([row["outcome"] for row in rows], ["succeeded"], "outcomes")
    found = stand_in(there, "far")
    done = there.machine.call("shell", "mc", "--", "flux", "job", "attach", str(found["id"]))
    facts.equal(done.returncode, EXIT_CODE, "exit code")
    wanted = expected("to the standard output\n", size) + "the end"
    facts.holds(done.stdout == wanted, f"standard output: {len(done.stdout)} of {len(wanted)} bytes")
    errors = expected("and to that for errors\n", size)
    shown = done.stderr.replace(errors, "", 1)
    facts.holds(len(shown) < len(done.stderr), f"standard error: {shown[:200]!r}")
    facts.figure(f"besides, on standard error: {shown!r}")
    _check_results(there.folder, facts, digest)
    there.touch("go")
    facts.equal(there.services.end(), [0], "exit codes of services")
    running, files = there.services.left()
    facts.equal(running, set(), "processes that are left")
    facts.holds(set(files) <= {".lock"}, f"files that are left: {files}")
    facts.figure(f"{size} bytes of each stream and of results, exit code {done.returncode}")


def _check_results(folder: Path, facts: Facts, digest: str) -> None:
    """The file was brought back: it is another one by now, with the same bytes."""
    facts.equal(
        hashlib.sha256((folder / "out.bin").read_bytes()).hexdigest(), digest, "digest of the results"
    )
    inode = int((folder / "inode").read_text())
    facts.holds((folder / "out.bin").stat().st_ino != inode, "the results were written beside, and renamed")


def _kills(there: BurstMachine) -> Iterator[str]:
    """Kill what is here, one after the other, and wait until it is back."""
    before = stand_in(there, "far")["id"]
    there.flux("job", "kill", "-s", "KILL", str(before))
    there.services.until(lambda: stand_in(there, "far")["id"] != before, "another stand-in")
    yield "the stand-in"
    service = there.services.processes.pop()
    service.send_signal(signal.SIGKILL)
    service.wait()
    there.services.serve(number=1)
    yield "the service"
    begun = time.monotonic()  # real Flux that is killed forgets its last second
    there.services.until(lambda: time.monotonic() - begun > CHECKPOINT, "a checkpoint of real Flux")
    [lead] = brokers(there)
    os.kill(lead, signal.SIGKILL)
    there.services.until(lambda: brokers(there) not in ([], [lead]), "another lead broker")
    there.services.until(lambda: there.machine.call("jobs", "mc").returncode == 0, "its answer")
    yield "the lead's broker"


def brokers(there: BurstMachine) -> list[int]:
    """Return the process of the lead's broker."""
    pid_file = there.cluster / "r" / "0" / "local"
    return sorted(
        pid
        for pid in processes.marked(there.cluster)
        if processes.start_time(pid) and _is_broker(pid, str(pid_file))
    )


def _is_broker(pid: int, socket: str) -> bool:
    try:
        words = Path(f"/proc/{pid}/cmdline").read_text(errors="replace")
    except OSError:
        return False
    return "broker" in words and socket in words


def prove_cancel(there: BurstMachine, facts: Facts) -> None:
    """A job that is canceled here ends there."""
    left(there, "far", 1000)
    there.services.serve()
    there.services.until((there.folder / "wrote").exists, "what the job writes elsewhere")
    there.machine.good("cancel", "mc", str(stand_in(there, "far")["id"]))
    rows = there.services.until_no_burst()
    facts.equal([row["reason"] for row in rows], ["somebody canceled its job"], "why the burst ended")
    there.touch("go")
    facts.equal(there.services.end(), [0], "exit codes of services")
    facts.equal(there.services.left()[0], set(), "processes that are left")


def main() -> None:
    """Prove it on each engine, with 2 MB of each stream and every kill, and print figures."""
    facts = Facts("isolated")
    for engine in engines():
        facts.figure(engine)
        with burst_machine(engine) as there:
            prove(there, facts, size=2_000_000, kills=True)
        with burst_machine(engine) as there:
            prove_cancel(there, facts)
    facts.end()


if __name__ == "__main__":
    main()
