"""The parts without processes: directories, volumes, what ends mean, what is shown of a lead's words."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minicluster.backends.errors import WrongRequest
from minicluster.local import documents, pod_policy, processes, state_directory
from minicluster.local.bring_up import bring_up
from minicluster.local.errors import SizeRefused, StateDirectoryError, UsageProblem
from minicluster.local.output import CommandErrors, LogFile, last_lines
from minicluster.local.pod_policy import PodPolicy, Verdict, back_off
from minicluster.local.records import EndedContainer, LocalContainer, LocalPod
from minicluster.local.state_directory import DEEPEST_SOCKET, SOCKET_PATH_LIMIT, short_name
from minicluster.local.volumes import VolumeMap

DOCUMENT = """\
apiVersion: flux-framework.org/v1alpha2
kind: MiniCluster
metadata: {name: one}
spec: {size: 2, maxSize: 4, minSize: 2, containers: [{image: x, command: echo hi, batch: true}]}
---
apiVersion: v1
kind: Secret
metadata: {name: keys}
data: {a: aGVsbG8=}
stringData: {b: plain}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: files}
data: {in.txt: text}
"""


@given(st.text("abcdefghijklmnopqrstuvwxyz0123456789-", min_size=1, max_size=63))
def test_a_directory_name_is_bounded(name: str) -> None:
    assert len(short_name(name)) <= 20


@given(st.lists(st.text("ab-", min_size=1, max_size=63), unique=True, min_size=2, max_size=5))
def test_different_names_have_different_directories(names: list[str]) -> None:
    assert len({short_name(name) for name in names}) == len(names)


def test_every_socket_fits_into_its_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A root so long that the longest socket would not fit is refused, with the numbers."""
    monkeypatch.setenv("MINICLUSTER_RUNTIME_DIR", str(tmp_path / ("x" * 60)))
    with pytest.raises(
        StateDirectoryError, match=rf"too long for sockets \(\d+ of at most {SOCKET_PATH_LIMIT} bytes\)"
    ):
        state_directory.create("mc", unique=True)
    assert DEEPEST_SOCKET.startswith("r/")


def test_a_file_holds_config_maps_and_secrets_too() -> None:
    source = documents.parse(DOCUMENT, "x.yaml")
    assert source.config_maps == {"files": {"in.txt": b"text"}}
    assert source.secrets == {"keys": {"a": b"hello", "b": b"plain"}}


def test_data_files_are_read_by_the_documents_own_rules() -> None:
    """No date is looked for, and a number stays as it is written."""
    source = documents.parse(DOCUMENT.replace("{in.txt: text}", "{a: 2024-99-99, b: 1:30}"), "x.yaml")
    assert source.config_maps == {"files": {"a": b"2024-99-99", "b": b"1:30"}}


MISSHAPEN = {
    "no base64": ("{a: aGVsbG8=}", "{a: xx}", "Incorrect padding"),
    "a number": ("{a: aGVsbG8=}", "{a: 1}", "argument should be"),
    "a list": ("{b: plain}", "[plain]", "'list' object has no attribute 'items'"),
}


@pytest.mark.parametrize(("written", "misshapen", "why"), MISSHAPEN.values(), ids=MISSHAPEN)
def test_a_secret_of_another_shape_is_refused(written: str, misshapen: str, why: str) -> None:
    with pytest.raises(UsageProblem) as refusal:
        documents.parse(DOCUMENT.replace(written, misshapen), "x.yaml")
    rule = "Secret keys: stringData must hold texts by name, and data texts in base64 "
    assert str(refusal.value).startswith(f"{rule}({why}")


@pytest.mark.parametrize(
    ("size", "words"), [(5, "at most spec.maxSize (4)"), (1, "at least 2")], ids=["high", "low"]
)
def test_a_size_outside_of_the_document_is_refused(size: int, words: str) -> None:
    source = documents.parse(DOCUMENT, "x.yaml")
    with pytest.raises(SizeRefused) as refusal:
        documents.with_request(source, size=size)
    assert words in str(refusal.value)


def test_a_command_given_replaces_the_documents() -> None:
    source = documents.with_request(documents.parse(DOCUMENT, "x.yaml"), command=["a b", "$c"])
    container = source.cluster.spec.containers[0]
    assert (container.command, container.batch) == ("'a b' '$c'", False)


def test_one_of_several_is_chosen_by_name() -> None:
    two = DOCUMENT + "---\n" + DOCUMENT.split("---", maxsplit=1)[0].replace("name: one", "name: two")
    with pytest.raises(WrongRequest, match=r"several MiniClusters \(one, two\); choose one with --name"):
        documents.parse(two, "x.yaml")
    assert documents.parse(two, "x.yaml", "two").cluster.metadata.name == "two"
    renames = "--name chooses one of the file, and renames none; metadata.name in the file is its name"
    with pytest.raises(WrongRequest, match=f"has no MiniCluster three; it has one, two; {renames}"):
        documents.parse(two, "x.yaml", "three")


PATHS = {
    "the mount itself": ("/data", "/here/d"),
    "below it": ("/data/in/x", "/here/d/in/x"),
    "a longer mount wins": ("/data/deep/y", "/here/e/y"),
    "only whole names": ("/database", "/database"),
    "elsewhere": ("/opt", "/opt"),
}


@pytest.mark.parametrize(("path", "here"), PATHS.values(), ids=PATHS.keys())
def test_a_containers_path_is_a_path_here(path: str, here: str) -> None:
    mapping = VolumeMap(
        {"/data": Path("/here/d"), "/data/deep": Path("/here/e")}, {"d": "/data", "e": "/data/deep"}
    )
    assert mapping.here(path) == here


def test_a_volume_is_named_by_a_variable() -> None:
    mapping = VolumeMap({"/data": Path("/here")}, {"my-data.1": "/data"})
    assert mapping.environment() == {"MINICLUSTER_VOLUME_MY_DATA_1": "/here"}


LEAD, FOLLOWER, SERVICES = (
    LocalPod(name, (LocalContainer("c", ("true",), {}, Path("/")),), rank)
    for name, rank in (("0", 0), ("1", 1), ("s", None))
)
POLICY = PodPolicy(backoff_limit=2, counted=frozenset({75, 137, 143}))
ENDS = {
    "the lead in order": (LEAD, 0, 0, Verdict.DONE),
    "a follower in order": (FOLLOWER, 0, 0, Verdict.DONE),
    "a command that failed": (LEAD, 7, 0, Verdict.FAIL),
    "a lead that was killed": (LEAD, 137, 0, Verdict.REPLACE),
    "a follower that was lost": (FOLLOWER, 75, 1, Verdict.REPLACE),
    "too many that were lost": (FOLLOWER, 75, 2, Verdict.FAIL),
    "a service that failed": (SERVICES, 1, 9, Verdict.REPLACE),
    "a service in order": (SERVICES, 0, 0, Verdict.DONE),
}


@pytest.mark.parametrize(("pod", "code", "losses", "verdict"), ENDS.values(), ids=ENDS.keys())
def test_what_an_end_means(pod: LocalPod, code: int, losses: int, verdict: Verdict) -> None:
    assert POLICY.verdict(EndedContainer(pod, pod.containers[0], code), losses) is verdict


def test_with_restart_on_failure_every_failure_is_started_again() -> None:
    policy = PodPolicy(0, frozenset(), restart_always=True)
    assert policy.verdict(EndedContainer(LEAD, LEAD.containers[0], 7), 5) is Verdict.REPLACE


def test_the_rules_are_those_of_the_planned_job() -> None:
    rules = [
        {"action": "Ignore", "onPodConditions": []},
        {"action": "Count", "onExitCodes": {"operator": "In", "values": [75, 137]}},
    ]
    job = {"spec": {"backoffLimit": 3, "podFailurePolicy": {"rules": rules}, "template": {"spec": {}}}}
    assert pod_policy.of_job(job) == PodPolicy(3, frozenset({75, 137}))


def test_a_pod_is_started_again_later_each_time() -> None:
    delays = [back_off(times) for times in range(8)]
    assert delays == sorted(delays)
    assert (delays[0], delays[-1]) == (0.25, 8.0)


LINES = {
    "the command's own": (b"Error: no such file\n", True),
    "a broker's information": (b"broker.info[0]: start: none->join\n", False),
    "the same with a priority": (b"<6>broker.info[0]: start: none->join\n", False),
    "the same with a time": (b"Nov 21 12:28:25.629450 UTC 2026 state-machine.info[0]: quorum->run\n", False),
    "a broker's warning": (b"<4>overlay.warning[0]: mc-1 (rank 1) lost\n", True),
    "the end of the command": (b"<3>broker.err[0]: rc2.0: sh start.sh main Exited (rc=7) 0.3s\n", False),
    "without a newline": (b"partial", True),
}


@pytest.mark.parametrize(("line", "shown"), LINES.values(), ids=LINES.keys())
def test_of_a_leads_words_the_commands_are_shown(line: bytes, shown: bool) -> None:
    seen: list[bytes] = []
    errors = CommandErrors(seen.append)
    errors(line)
    errors.flush()
    assert b"".join(seen) == (line if shown else b"")


@given(st.lists(st.binary(max_size=40).filter(lambda data: b"[" not in data), max_size=20))
def test_what_a_command_writes_is_passed_on_unchanged(chunks: list[bytes]) -> None:
    seen: list[bytes] = []
    errors = CommandErrors(seen.append)
    for chunk in chunks:
        errors(chunk)
    errors.flush()
    assert b"".join(seen) == b"".join(chunks)


def test_a_log_stays_bounded(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("minicluster.local.output.LOG_LIMIT", 100)
    log = LogFile(tmp_path / "x.log")
    for number in range(100):
        log.write(b"line %02d\n" % number)
    log.close()
    assert sum(path.stat().st_size for path in tmp_path.iterdir()) < 250
    assert last_lines(tmp_path / "x.log")[-1:] in (["line 99"], [])


def test_a_process_is_distinguished_from_a_later_one_of_its_id() -> None:
    assert processes.start_time(os.getpid()) > 0
    assert processes.start_time(2**22 - 1) == 0


@pytest.mark.parametrize("starts", [True, False], ids=["starts-queues", "starts-none"])
def test_a_cluster_is_up_once_its_queues_are_started(starts: bool) -> None:
    """The lead's start script begins its main part then."""

    async def is_up_before() -> bool:
        async def at_once(*_arguments: object) -> None:
            return

        started = asyncio.Event()
        lead = SimpleNamespace(ended=False, main_started=started.wait)
        cluster: Any = SimpleNamespace(lead=lead, start=lambda _ranks: None, joined=lambda size: size)
        brokers: Any = SimpleNamespace(online=at_once, call=at_once)
        up = asyncio.ensure_future(bring_up(cluster, brokers, 2, lambda _message: None, starts_queues=starts))
        done, _ = await asyncio.wait([up], timeout=0.3)
        started.set()
        await up
        return bool(done)

    assert asyncio.run(is_up_before()) is not starts
