"""Results: what a tar may have, and that all of it is written, or nothing."""

from __future__ import annotations

import hashlib
import io
import tarfile
from typing import TYPE_CHECKING

import pytest

from minicluster.stand_in.errors import ResultsError
from minicluster.stand_in.results import extract

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

LABEL = "aaaaaaaaaa"


def member(name: str, content: bytes = b"", **fields: object) -> tuple[tarfile.TarInfo, bytes]:
    found = tarfile.TarInfo(name)
    found.size, found.mode, found.mtime = len(content), 0o644, 1_700_000_000
    for field, value in fields.items():
        setattr(found, field, value)
    return found, content


def folder(name: str) -> tuple[tarfile.TarInfo, bytes]:
    return member(name, type=tarfile.DIRTYPE, mode=0o755)


def link(name: str, target: str) -> tuple[tarfile.TarInfo, bytes]:
    return member(name, type=tarfile.SYMTYPE, linkname=target)


def names(directory: Path) -> list[str]:
    return sorted(each.name for each in directory.iterdir())


def packed(path: Path, *members: tuple[tarfile.TarInfo, bytes]) -> str:
    """Write a tar; return its SHA-256."""
    with tarfile.open(path, "w") as tar:
        for info, content in members:
            tar.addfile(info, io.BytesIO(content) if content else None)
    return hashlib.sha256(path.read_bytes()).hexdigest()


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Pack members, and write them into a directory, which is returned."""

    def written(*members: tuple[tarfile.TarInfo, bytes], digest: str = "") -> Path:
        directory = tmp_path / "work"
        directory.mkdir(exist_ok=True)
        found = packed(tmp_path / "results.tar", *members)
        extract(tmp_path / "results.tar", digest or found, directory, LABEL)
        return directory

    return written


def test_files_directories_and_links_within(write: Callable[..., Path]) -> None:
    there = write(
        folder("out"),
        member("out/a.bin", bytes(range(256)), mode=0o4750),
        link("out/latest", "a.bin"),
        member("./deep/er/b", b"b"),
        link("deep/er/up", "../../out/a.bin"),
        member("empty"),
    )
    assert (there / "out/latest").read_bytes() == bytes(range(256)) == (there / "deep/er/up").read_bytes()
    assert (there / "deep/er/b").read_bytes() == b"b"
    assert (there / "empty").read_bytes() == b""
    found = (there / "out/a.bin").stat()
    assert (found.st_mode & 0o7777, int(found.st_mtime)) == (0o750, 1_700_000_000)
    assert names(there) == ["deep", "empty", "out"]


def test_what_is_there_is_replaced_and_the_rest_stays(write: Callable[..., Path]) -> None:
    """As after a stand-in that was killed while it wrote."""
    there = write(member("out/a", b"old"))
    (there / "out/mine").write_text("mine")
    (there / f".minicluster-results-{LABEL}").mkdir()
    (there / f".minicluster-results-{LABEL}" / "half").write_text("x")
    write(member("out/a", b"new"), member("out/a", b"newest"))
    assert (there / "out/a").read_bytes() == b"newest"
    assert (there / "out/mine").read_text() == "mine"
    assert names(there) == ["out"]


OUT = "leads out of the job's working directory"
MAY_LEAD = "which may lead out of the job's working directory"
NO_FILE = "is no file, directory or symbolic link"


@pytest.mark.parametrize(
    ("members", "words"),
    [
        pytest.param([member("/etc/x", b"x")], f"'/etc/x' {OUT}", id="absolute"),
        pytest.param([member("a/../../x", b"x")], f"'a/../../x' {OUT}", id="up"),
        pytest.param([link("a", "/etc")], f"'a' is a link to '/etc', {MAY_LEAD}", id="link-absolute"),
        pytest.param([link("a/b", "../..")], f"'a/b' is a link to '../..', {MAY_LEAD}", id="link-up"),
        pytest.param(
            [link("d/e/c", "../.."), link("b", "d/e/c/..")],
            f"'b' is a link to 'd/e/c/..', {MAY_LEAD}",
            id="link-up-through-a-link",
        ),
        pytest.param([link("a", "."), member("a/x", b"x")], "'a/x' is below a link", id="below-a-link"),
        pytest.param([member("a", type=tarfile.LNKTYPE, linkname="b")], f"'a' {NO_FILE}", id="hard-link"),
        pytest.param([member("a", type=tarfile.FIFOTYPE)], f"'a' {NO_FILE}", id="fifo"),
        pytest.param([member("a", type=tarfile.CHRTYPE)], f"'a' {NO_FILE}", id="device"),
    ],
)
def test_what_leads_out_is_not_written_and_nothing_else(
    write: Callable[..., Path], tmp_path: Path, members: list[tuple[tarfile.TarInfo, bytes]], words: str
) -> None:
    with pytest.raises(ResultsError) as caught:
        write(member("fine", b"fine"), *members)
    assert str(caught.value) == words
    assert names(tmp_path) == ["results.tar", "work"]
    assert names(tmp_path / "work") == []


def test_a_digest_that_is_another(write: Callable[..., Path], tmp_path: Path) -> None:
    with pytest.raises(ResultsError, match=r"their SHA-256 is [0-9a-f]{64}, not 00* as it was there"):
        write(member("a", b"a"), digest="0" * 64)
    assert names(tmp_path / "work") == []


def test_what_is_no_tar(tmp_path: Path) -> None:
    (tmp_path / "results.tar").write_bytes(b"no tar" * 1000)
    digest = hashlib.sha256(b"no tar" * 1000).hexdigest()
    with pytest.raises(ResultsError, match="they are no tar: "):
        extract(tmp_path / "results.tar", digest, tmp_path, LABEL)


def test_what_has_not_come(tmp_path: Path) -> None:
    with pytest.raises(ResultsError, match="they have not come"):
        extract(tmp_path / "results.tar", "0" * 64, tmp_path, LABEL)


def test_a_working_directory_that_is_not_there(tmp_path: Path) -> None:
    digest = packed(tmp_path / "results.tar", member("a", b"a"))
    gone = tmp_path / "gone"
    with pytest.raises(ResultsError) as caught:
        extract(tmp_path / "results.tar", digest, gone, LABEL)
    assert str(caught.value) == f"{gone}, the job's working directory, is not there on the lead"
    assert not gone.exists()


def test_what_is_in_the_way_is_named(write: Callable[..., Path]) -> None:
    there = write(folder("a"), member("a/b", b"b"))
    with pytest.raises(ResultsError, match="a: Is a directory"):
        write(member("a", b"file"))
    assert (there / "a/b").read_bytes() == b"b"
    assert names(there) == ["a"]
