"""Dumps as files, and the last words of a lead that saved."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import io
import json
import lzma
import shutil
import sqlite3
import stat
import tarfile
import zipfile
from pathlib import Path

import pytest

from minicluster.save_restore import dumps
from minicluster.save_restore.command import MAX_MESSAGE_BYTES, message
from minicluster.save_restore.errors import DumpUnusable
from minicluster.save_restore.state_files import StateFiles


def tar() -> bytes:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for number in range(3):
            entry = tarfile.TarInfo(f"job/{number}")
            entry.size = 1024
            archive.addfile(entry, io.BytesIO(b"x" * 1024))
    return packed.getvalue()


def zipped() -> bytes:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("job", b"x" * 700)
    return packed.getvalue()


def database(directory: Path) -> bytes:
    path = directory / "made.sqlite"
    with contextlib.closing(sqlite3.connect(path)) as db:
        db.execute("CREATE TABLE jobs (id)")
        db.executemany("INSERT INTO jobs VALUES (?)", [("x" * 900,)] * 20)
        db.commit()
    return path.read_bytes()


FORMS = {
    "tar": tar()[: 3 * (512 + 1024) + 1024],  # up to its two last blocks: what follows is filling
    "gzip": gzip.compress(tar()),
    "bzip2": bz2.compress(tar()),
    "xz": lzma.compress(tar()),
    "zip": zipped(),
}


@pytest.fixture(params=[*FORMS, "sqlite"])
def whole(request: pytest.FixtureRequest, tmp_path: Path) -> bytes:
    """A whole dump, of each form."""
    return FORMS.get(request.param) or database(tmp_path)


def test_whole_dump(whole: bytes, tmp_path: Path) -> None:
    """It is known who wrote it."""
    dump = tmp_path / "dump"
    dump.write_bytes(whole)
    assert dumps.check(dump) == (dumps.EMBEDDED if whole.startswith(dumps.SQLITE) else dumps.FLUX)


@pytest.mark.parametrize("part", [0.0, 0.1, 0.5, 0.9, 1.0])
def test_dump_that_was_cut_short(whole: bytes, part: float, tmp_path: Path) -> None:
    """Wherever, up to its last byte."""
    dump = tmp_path / "dump"
    dump.write_bytes(whole[: min(int(len(whole) * part), len(whole) - 1)])
    with pytest.raises(DumpUnusable, match=r"dump: (no dump, or one that is|the dump is) truncated"):
        dumps.check(dump)


def test_file_that_is_no_dump(tmp_path: Path) -> None:
    """Its name is in the words."""
    dump = tmp_path / "dump"
    dump.write_bytes(b"hello" * 1000)
    with pytest.raises(DumpUnusable, match=f"{dump}: no dump, or one that is truncated"):
        dumps.check(dump)


def test_kept_dump_replaces_the_older_one(tmp_path: Path) -> None:
    """Under its name; the draft is gone."""
    temporary, archive = tmp_path / "draft", tmp_path / "mc.tgz"
    temporary.write_bytes(FORMS["gzip"])
    archive.write_bytes(b"old")
    assert dumps.keep(temporary, archive) == len(FORMS["gzip"])
    assert {each.name: each.read_bytes() for each in tmp_path.iterdir()} == {"mc.tgz": FORMS["gzip"]}


def test_kept_dump_is_its_owners_alone(tmp_path: Path) -> None:
    """However it was written, and whoever could read the older one: it holds the environment of every job."""
    temporary, archive = tmp_path / "draft", tmp_path / "mc.tgz"
    temporary.write_bytes(FORMS["gzip"])
    archive.write_bytes(b"old")
    for each in (temporary, archive):
        each.chmod(0o644)
    dumps.keep(temporary, archive)
    assert stat.S_IMODE(archive.stat().st_mode) == 0o600


def test_trial_of_a_directory_for_all_users_touches_no_file(tmp_path: Path) -> None:
    """Another user may have put a link there, to a file of this one."""
    mine, link = tmp_path / "mine", tmp_path / ".trying.mc.tgz"
    mine.write_bytes(b"precious")
    link.symlink_to(mine)
    dumps.writable(tmp_path / "mc.tgz")
    assert mine.read_bytes() == b"precious"
    assert sorted(tmp_path.iterdir()) == [link, mine]


def test_directory_that_cannot_be_written_is_named() -> None:
    with pytest.raises(DumpUnusable, match=r"/proc/mc.tgz \(archive.path\) cannot be written: "):
        dumps.writable(Path("/proc/mc.tgz"))


def test_file_that_flux_left_empty(tmp_path: Path) -> None:
    """It was made before, for Flux to write into."""
    temporary, archive = tmp_path / "draft", tmp_path / "mc.tgz"
    temporary.touch()
    with pytest.raises(DumpUnusable, match=f"{archive}: {temporary}: the dump was not written"):
        dumps.keep(temporary, archive)
    assert not archive.exists()


def test_broken_dump_keeps_the_older_one(tmp_path: Path) -> None:
    """And the archive is named."""
    temporary, archive = tmp_path / "draft", tmp_path / "mc.tgz"
    temporary.write_bytes(FORMS["gzip"][:-1])
    archive.write_bytes(b"old")
    with pytest.raises(DumpUnusable, match=f"nothing was saved to {archive}: "):
        dumps.keep(temporary, archive)
    assert archive.read_bytes() == b"old"


def test_volume_that_is_too_small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A restore says how much there is, and how much is needed."""
    dump = tmp_path / "dump"
    dump.write_bytes(FORMS["gzip"])
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage._replace(free=2000))
    with pytest.raises(DumpUnusable, match=f"{dump} holds 3072 bytes, and {tmp_path} has 2000 left"):
        dumps.check_room(dump, tmp_path)


def test_termination_message_fits() -> None:
    """However many jobs there are; how many is told."""
    pairs = [[f"f{number:010}", f"f{number + 1:010}"] for number in range(1000)]
    lost = [[f"f{number:010}", "it does not fit into this cluster"] for number in range(500)]
    text = message("/archive/mc.tgz", 10, {"jobs": 7, "restarted": pairs, "lost": lost}, launcher=False)
    decoded = json.loads(text)
    assert len(text) <= MAX_MESSAGE_BYTES
    assert (decoded["restarted_total"], decoded["lost_total"]) == (1000, 500)
    assert (decoded["restarted"], decoded["lost"]) == (
        pairs[: len(decoded["restarted"])],
        lost[: len(decoded["lost"])],
    )
    assert len(decoded["restarted"]) > 10
    assert len(decoded["lost"]) > 10


def test_second_order_is_none(tmp_path: Path) -> None:
    """The first one's seconds count until it is withdrawn."""
    state_files = StateFiles(str(tmp_path))
    assert (state_files.order(3), state_files.order(5), state_files.ordered_timeout()) == (True, False, 3.0)
    state_files.withdraw()
    assert (state_files.order(5), state_files.ordered_timeout()) == (True, 5.0)


def test_each_failure_has_a_time_of_its_own(tmp_path: Path) -> None:
    """One save has one, whatever its phase."""
    state_files = StateFiles(str(tmp_path))
    times = []
    for _ in range(2):
        state_files.progress("waiting", 3)
        begun = state_files.saving()
        state_files.progress("failed", error="no room")
        failed = state_files.saving()
        assert begun is not None
        assert failed is not None
        assert failed == {"phase": "failed", "since": begun["since"], "waiting_for": 0, "error": "no room"}
        times.append(failed["since"])
    assert times[0] < times[1]
