"""Spools: appended to by byte, bounded, private, and closed once the end is written."""

from __future__ import annotations

import base64
import errno
import os
import stat
from typing import TYPE_CHECKING

import pytest

from minicluster.stand_in import spool as spools
from minicluster.stand_in import topics
from minicluster.stand_in.errors import SpoolError
from minicluster.stand_in.spool import Spool

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

LABEL = "aaaaaaaaaa"


@pytest.fixture
def spool(tmp_path: Path) -> Spool:
    """One for job 5."""
    made = Spool(str(tmp_path), LABEL)
    made.open(5, is_successor=False)
    return made


def refused(call: Callable[[], object]) -> tuple[int, str]:
    with pytest.raises(SpoolError) as caught:
        call()
    return caught.value.errnum, caught.value.text


def test_what_is_written_twice_is_there_once(spool: Spool) -> None:
    assert spool.write("stdout", 0, b"hello ") == 6
    assert spool.write("stdout", 0, b"hello ") == 6
    assert spool.write("stdout", 3, b"lo world") == 11
    assert (spool.path / "stdout").read_bytes() == b"hello world"


def test_behind_a_gap_nothing_is_written(spool: Spool) -> None:
    """Who writes goes on from what is there."""
    assert spool.write("results", 5, b"x") == 0
    assert spool.write("results", 0, b"abc") == 3
    assert spool.write("results", 5, b"x") == 3


def test_other_bytes_are_refused(spool: Spool) -> None:
    spool.write("stderr", 0, b"abc")
    assert refused(lambda: spool.write("stderr", 1, b"xc")) == (
        errno.EINVAL,
        "stderr: other bytes are there already, from byte 1 on",
    )


def test_a_stream_is_bounded(tmp_path: Path) -> None:
    small = Spool(str(tmp_path), LABEL, most=1 << 20)
    small.open(5, is_successor=False)
    assert small.write("results", 0, b"x" * (1 << 20)) == 1 << 20
    assert refused(lambda: small.write("results", 1 << 20, b"x")) == (
        errno.EFBIG,
        "results: more than 1 MiB, which is the limit: name less in attributes.user.burst.results",
    )
    assert refused(lambda: small.write("stdout", 0, b"x" * (2 << 20)))[1] == (
        "stdout: more than 1 MiB, which is the limit"
    )


def test_a_full_disk_leaves_what_was_there(spool: Spool, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same write may be repeated later."""
    spool.write("stdout", 0, b"abc")
    real, calls = os.write, []

    def full(file: int, data: bytes) -> int:
        calls.append(data)
        if len(calls) == 1:
            return real(file, data[:2])
        raise OSError(errno.EDQUOT, "over quota")

    monkeypatch.setattr(os, "write", full)
    assert refused(lambda: spool.write("stdout", 3, b"defg")) == (
        errno.ENOSPC,
        f"stdout of burst {LABEL}: No space left on device",
    )
    monkeypatch.undo()
    assert (spool.path / "stdout").read_bytes() == b"abc"
    assert spool.write("stdout", 3, b"defg") == 7


def test_what_it_has_is_reported(spool: Spool) -> None:
    spool.write("stdout", 0, b"abc")
    spool.write("results", 0, b"")
    record = spool.record()
    assert record == spools.SpoolRecord(5, False, {"stdout": 3, "results": 0}, False, None)
    spool.end(7 << 8, "", "")
    spool.open(6, is_successor=True)
    assert spool.record() == spools.SpoolRecord(6, True, {"stdout": 3, "results": 0}, True, None)


def test_nothing_is_written_after_the_end(spool: Spool) -> None:
    spool.end(0, "", "")
    spool.end(1 << 8, "", "another")
    closed = (errno.ENOENT, f"burst {LABEL} has no stand-in that waits for it")
    assert refused(lambda: spool.write("stdout", 0, b"x")) == closed
    assert spools.read_json(spool.path / spools.END) == {"status": 0, "digest": "", "note": ""}


def test_without_a_stand_in_nothing_is_written(tmp_path: Path) -> None:
    unknown = Spool(str(tmp_path), LABEL)
    assert unknown.record() is None
    assert refused(lambda: unknown.write("stdout", 0, b"x"))[0] == errno.ENOENT
    assert refused(lambda: unknown.end(0, "", ""))[0] == errno.ENOENT
    unknown.clear()
    unknown.open(0, is_successor=False)
    assert unknown.record() is None
    assert refused(lambda: unknown.write("stdout", 0, b"x"))[0] == errno.ENOENT


def test_its_data_is_removed_and_who_stood_in_stays_known(spool: Spool) -> None:
    spool.write("stdout", 0, b"abc")
    spool.end(0, "", "")
    spools.write_json(spool.path / spools.OUTCOME, {"code": 0})
    spool.clear()
    spool.clear()
    assert spool.record() == spools.SpoolRecord(5, False, {}, True, 0)


def test_it_is_private(spool: Spool) -> None:
    spool.write("stdout", 0, b"secret")
    spool.end(0, "", "")
    folders = {stat.S_IMODE(each.stat().st_mode) for each in (spool.path, spool.path.parent)}
    files = {stat.S_IMODE(each.stat().st_mode) for each in spool.path.iterdir()}
    assert (folders, files) == ({0o700}, {0o600})


def test_a_link_in_it_is_not_followed(spool: Spool, tmp_path: Path) -> None:
    (spool.path / "stdout").symlink_to(tmp_path / "elsewhere")
    assert refused(lambda: spool.write("stdout", 0, b"x"))[0] == errno.ELOOP
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize("label", ["", "..", "../x", "a/b", "A", "-a", "a" * 64, None, 7])
def test_a_label_is_no_path(tmp_path: Path, label: object) -> None:
    assert refused(lambda: Spool(str(tmp_path), label))[1] == f"{str(label)[:64]!r} is no label of a burst"


@pytest.mark.parametrize(
    ("stream", "offset"), [("results.tar", 0), ("end.json", 0), (None, 0), ("stdout", -1)]
)
def test_only_streams_are_written(spool: Spool, stream: object, offset: int) -> None:
    assert refused(lambda: spool.write(stream, offset, b"x"))[0] == errno.EINVAL


def test_a_digest_is_one(spool: Spool) -> None:
    assert refused(lambda: spool.end(0, "abc", "")) == (errno.EINVAL, "'abc' is no SHA-256 in hex")


# -- by topics ---------------------------------------------------------------------------------------------


def ask(folder: Path, verb: str, **payload: object) -> dict[str, object]:
    attributes = {"statedir": str(folder)}
    return topics.answer(
        lambda name: attributes.get(name, ""), f"helper.stand-in-{verb}", {"label": LABEL, **payload}
    )


def test_a_burst_service_writes_by_topics(tmp_path: Path) -> None:
    opened = ask(tmp_path, "open", job=5, successor=False)
    assert opened["path"] == f"{tmp_path}/stand-ins/{LABEL}"
    data = base64.b64encode(b"\0\xff").decode()
    assert ask(tmp_path, "write", stream="stdout", offset=0, data=data) == {"received": 2}
    assert ask(tmp_path, "end", status=0, digest="", note="") == {}
    record = {"job": 5, "is_successor": False, "received": {"stdout": 2}, "is_ended": True, "outcome": None}
    assert ask(tmp_path, "status") == {"record": record}
    assert ask(tmp_path, "clear") == {}


def test_without_a_state_directory_it_is_in_that_of_the_run(tmp_path: Path) -> None:
    found = topics.answer(
        {"statedir": "", "rundir": str(tmp_path)}.__getitem__,
        topics.OPEN,
        {"label": LABEL, "job": 1, "successor": False},
    )
    assert found["path"] == f"{tmp_path}/stand-ins/{LABEL}"


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ("%", "data: "),
        (base64.b64encode(b"x" * (topics.MAX_WRITE_BYTES + 1)).decode(), "data: more than 1048576 bytes"),
    ],
)
def test_what_is_sent_is_base64_and_not_too_much(tmp_path: Path, data: str, words: str) -> None:
    ask(tmp_path, "open", job=5, successor=False)
    code, text = refused(lambda: ask(tmp_path, "write", stream="stdout", offset=0, data=data))
    assert code == errno.EINVAL
    assert text.startswith(words)
