"""Brokers that do not belong to their lead: a burst ends as failed, with the reason, and no job fails of it.

The lead has read its files: what is changed in them afterwards, the brokers of bursts alone have.
"""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from pathlib import Path
from shutil import which
from typing import TYPE_CHECKING

from broker_config import curve
from tests.burst.proofs.burst_machine import BURSTING, burst_machine
from tests.burst.proofs.facts import Facts
from tests.local.local_machine import engines

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.burst.proofs.burst_machine import BurstMachine

NOBODY = 65534
JOINING = {"embedded": 12, "flux": 200}
"""Seconds. Followers of real Flux do not notice a wrong certificate: they leave after two minutes."""


def certificate(there: BurstMachine) -> None:
    """Have another one."""
    path = there.cluster / "curve.cert"
    path.unlink()
    path.touch(mode=0o400)
    path.write_text(curve.render("other", curve.generate()))


def order(there: BurstMachine) -> None:
    """Have the slot's hosts in another order."""
    path = there.cluster / "etc" / "broker.toml"
    first, second = 'host = "burst-0-0"', 'host = "burst-0-1"'
    text = path.read_text()
    assert text.count(first) == text.count(second) == 1
    swapped = text.replace(first, "FIRST").replace(second, first).replace("FIRST", second)
    path.write_text(swapped)


def version(there: BurstMachine) -> None:
    """Have the brokers be of another version of the embedded instance."""
    path = there.cluster / "bin" / "flux"
    text = path.read_text()
    line = 'import minicluster.embedded.overlay.overlay as it\nit.VERSION = "0.12.0"\n'
    path.write_text(text.replace("from minicluster.embedded.main", f"{line}from minicluster.embedded.main"))


def user(there: BurstMachine) -> None:
    """Have the brokers be another user's, who may read all files."""
    rights = "+dac_override,+dac_read_search"
    words = (
        *("--securebits=+no_setuid_fixup", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"),
        *(f"--inh-caps={rights}", f"--ambient-caps={rights}"),
    )
    lines = (
        'if [ "$1" = broker ]; then',
        f'    chown -R {NOBODY} "$MINICLUSTER_RUN" "$MINICLUSTER_CONFIG/../curve.cert"',
        f'    exec setpriv {" ".join(words)} "$flux" "$@"',
        "fi",
        'exec "$flux" "$@"',
    )
    _shim(there, "\n".join(lines))


def prefix(there: BurstMachine) -> None:
    """Have Flux be in another directory, and nothing in the one where the lead has it.

    Both have names of one length, so that a copy of all files can be changed by them.
    """
    own = Path(which("flux") or "").resolve().parents[1]
    other = own.with_name(own.name[:-1] + "_")
    copy = there.folder / "flux"
    shutil.copytree(own, copy)
    files = [each for each in copy.rglob("*") if each.is_file()]
    for each in files:
        each.write_bytes(each.read_bytes().replace(bytes(own), bytes(other)))
    mounts = (
        f"mount -t tmpfs none {own.parent}\nmkdir {other}\nmount --bind {copy} {other}\n"
        f'exec {other}/bin/flux "$@"'
    )
    _shim(there, f'exec unshare --mount sh -c {shlex.quote(mounts)} sh "$@"\n')


def _shim(there: BurstMachine, lines: str) -> None:
    """Have what bursts start find this program as `flux`; the lead runs already."""
    programs = there.cluster / "bin"
    program = programs / "flux"
    if there.machine.engine == "embedded":
        program.rename(programs / "own-flux")
        head = f"# minicluster.embedded\nflux={programs}/own-flux\n"
    else:
        programs.mkdir()
        head = f"# FLUX_EXEC_PATH\nflux={which('flux')}\n"
    program.write_text(f"#!/bin/sh\n{head}{lines}")
    program.chmod(0o755)


def cores(_there: BurstMachine) -> None:
    """Have fewer cores than the slot's nodes: the service has one, with all that it starts."""


CASES: dict[Callable[[BurstMachine], None], str] = {
    cores: "fewer cores than the slot's 2",
    order: "mismatched config?",
    version: "version mismatched with server",
    certificate: "certificate",
    user: "signing userid 0 != current 65534",
    prefix: "job shell exec error on broker burst-0-0",
}


def prove(there: BurstMachine, facts: Facts, wrong: Callable[[BurstMachine], None]) -> None:
    """Prove it for one of the cases."""
    there.up(hosts=2, bursting={**BURSTING, "maxNodes": 2}, cores=2)
    there.submit("busy", there.wait_for_file("go"), 2)
    there.services.until(lambda: there.tasks.begun("busy"), "the busy nodes")
    there.submit("waits", "true", 2, "--burstable")
    wrong(there)
    usual = os.sched_getaffinity(0)
    if wrong is cores:
        os.sched_setaffinity(0, {min(usual)})
    try:
        there.services.serve(QUICK_JOINING=str(JOINING[there.machine.engine]))
    finally:
        os.sched_setaffinity(0, usual)
    [first] = there.services.until_no_burst()[:1]
    there.services.end()
    name, reason = wrong.__name__, first["reason"]
    facts.equal(first["outcome"], "failed", f"{name}: outcome")
    words = "another list of hosts" if there.machine.engine == "flux" and wrong is order else CASES[wrong]
    facts.holds(words in reason, f"{name}: the reason is not {words!r}: {reason!r}")
    facts.equal(there.jobs()["waits"]["state"], "SCHED", f"{name}: the user's job")
    there.touch("go")
    there.services.until(lambda: there.tasks.ended("waits"), "the job that could not burst")
    facts.equal(there.remote(), set(), f"{name}: what ran there")
    running, files = there.services.left()
    facts.holds(not running and set(files) <= {".lock"}, f"{name}: left: {running} {files}")
    facts.figure(f"{name}: {reason}")


def _left_out(engine: str, wrong: Callable[[BurstMachine], None]) -> str:
    """Return why a case is not tried; empty: it is."""
    if wrong is version and engine == "flux":
        return "there is one version of it here"
    if wrong is prefix and engine == "embedded":
        return "its brokers start tasks by themselves, wherever they are installed"
    return "only root may start it" if wrong in (user, prefix) and os.geteuid() else ""


def main() -> None:
    """Prove each case, or those that are named, and print figures."""
    facts = Facts("wrong partners")
    cases = [each for each in CASES if each.__name__ in sys.argv] or CASES
    for engine in engines():
        facts.figure(engine)
        for each in cases:
            if reason := _left_out(engine, each):
                facts.figure(f"{each.__name__}: left out: {reason}")
                continue
            with burst_machine(engine) as there:
                prove(there, facts, each)
    facts.end()


if __name__ == "__main__":
    main()
