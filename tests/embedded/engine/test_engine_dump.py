"""Dump and restore: nothing is lost, at another size too, and what is no dump is refused with the reason."""

from __future__ import annotations

import errno
import io
import os
import sqlite3
import tarfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from minicluster.embedded.errors import DumpError, RpcError
from minicluster.embedded.jobs import dump

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@pytest.fixture
def dumped(kit: Any, tmp_path: Path) -> tuple[Path, dict[str, int]]:
    """A dump with a job that ended, a held one, and one that waits."""
    (tmp_path / "old").mkdir()
    bench = kit.Bench(tmp_path / "old")
    ended = bench.submit()
    bench.engine.events.output(ended, 0, "stdout", b"precious\n")
    bench.finish(ended)
    bench.call("job-manager.queue-start", start=False, reason="saving")
    ids = {"ended": ended, "held": bench.submit(urgency=0), "waiting": bench.submit()}
    path = tmp_path / "mc.dump"
    answer = bench.call("content.dump", path=str(path))
    assert answer == {"jobs": 3, "bytes": path.stat().st_size}
    bench.engine.close()
    return path, ids


def test_a_restore_at_another_size_loses_nothing(kit: Any, tmp_path: Path, dumped: Any) -> None:
    path, ids = dumped
    (tmp_path / "new").mkdir()
    bench = kit.Bench(tmp_path / "new", nodes=3, restore=str(path))
    assert f"restored 3 job(s) from {path}" in bench.logged
    assert bench.call("job-list.job-stats")["job_states"]["total"] == 3
    output = bench.call("job-info.lookup", id=ids["ended"], keys=["guest.output"])["guest.output"]
    assert "precious" in output
    assert bench.shown(ids["held"])["urgency"] == 0
    assert bench.running() == [], "the queue is stopped as it was"
    bench.call("job-manager.queue-start", start=True)
    assert bench.running() == [ids["waiting"]]
    assert bench.submit() > max(ids.values())


def test_jobs_that_do_not_fit_any_more_are_kept(kit: Any, tmp_path: Path) -> None:
    """They wait, and say why; where they fit again, they run."""
    for name in ("wide", "small", "again"):
        (tmp_path / name).mkdir()
    wide = kit.Bench(tmp_path / "wide", nodes=3)
    wide.call("job-manager.queue-start", start=False)
    job, after = wide.submit(nodes=3), wide.submit()
    wide.call("content.dump", path=str(tmp_path / "first"))
    small = kit.Bench(tmp_path / "small", nodes=2, restore=str(tmp_path / "first"))
    small.call("job-manager.queue-start", start=True)
    assert small.running() == [after]
    reason = small.shown(job)["annotations"]["sched"]["reason_pending"]
    assert any("is kept, it does not fit any more: " + reason in line for line in small.logged)
    small.finish(after)
    small.call("content.dump", path=str(tmp_path / "second"))
    again = kit.Bench(tmp_path / "again", nodes=3, restore=str(tmp_path / "second"))
    assert again.running() == [job]
    for bench in (wide, small, again):
        bench.engine.close()


def test_jobs_come_through_brokers_that_are_cut_and_made_whole_again(kit: Any, tmp_path: Path) -> None:
    """As where a MiniCluster is made again with another granularity: four cores on one broker, or on four.

    What asks for tasks runs on either. What needs a broker of some size waits for one, and loses nothing.
    """
    for name in ("whole", "cut", "again"):
        (tmp_path / name).mkdir()
    whole = kit.Bench(tmp_path / "whole", nodes=1, cores=4)
    whole.call("job-manager.queue-start", start=False)
    tasks, large, after = whole.submit(slots=4), whole.submit(cores=4), whole.submit(slots=2)
    whole.call("content.dump", path=str(tmp_path / "first"))
    cut = kit.Bench(tmp_path / "cut", nodes=4, cores=1, restore=str(tmp_path / "first"))
    cut.call("job-manager.queue-start", start=True)
    assert cut.running() == [tasks]
    assert "is kept, it does not fit any more: " in "".join(cut.logged)
    cut.finish(tasks)
    assert cut.running() == [tasks, after]
    cut.finish(after)
    cut.call("job-manager.queue-start", start=False)
    wide = cut.submit(nodes=4)
    cut.call("content.dump", path=str(tmp_path / "second"))
    again = kit.Bench(tmp_path / "again", nodes=1, cores=4, restore=str(tmp_path / "second"))
    again.call("job-manager.queue-start", start=True)
    assert again.running() == [large]
    kept = [line for line in again.logged if "is kept" in line]
    assert len(kept) == 1, "the one for four brokers"
    assert again.shown(wide)["annotations"]["sched"]["reason_pending"] in kept[0]
    for bench in (whole, cut, again):
        bench.engine.close()


def test_whether_a_job_could_ever_run_is_answered(bench: Any, kit: Any) -> None:
    """In the words with which it would be ended."""
    assert bench.call("feasibility.check", jobspec=kit.jobspec(nodes=2)) == {}
    with pytest.raises(RpcError) as refusal:
        bench.call("feasibility.check", jobspec=kit.jobspec(nodes=3))
    assert refusal.value.errnum == errno.EINVAL
    job = bench.submit(nodes=3)
    assert ("exception", refusal.value.text) in [
        (name, context.get("note")) for name, context in bench.log(job)
    ]


def test_job_data_that_is_there_is_never_restored_over(kit: Any, tmp_path: Path, dumped: Any) -> None:
    path, _ = dumped
    (tmp_path / "new").mkdir()
    bench = kit.Bench(tmp_path / "new")
    own = bench.submit(urgency=0)
    bench._options["restore"] = str(path)
    bench.restart()
    assert list(bench.engine._manager.active) == [own]
    assert any(f"{path} is not restored over them" in line for line in bench.logged)


def test_running_jobs_prevent_a_dump_but_at_the_end(bench: Any, tmp_path: Path) -> None:
    bench.submit()
    path = str(tmp_path / "mc.dump")
    with pytest.raises(RpcError) as refusal:
        bench.call("content.dump", path=path)
    reason = "1 job(s) are running: stop the queue and wait until it is idle"
    assert (refusal.value.errnum, refusal.value.text) == (errno.EBUSY, reason)
    assert bench.engine.dump(path) == 1


def _tar(path: Path) -> None:
    with tarfile.open(path, "w") as archive:
        archive.addfile(tarfile.TarInfo("job/eventlog"), io.BytesIO())


def _newer(path: Path) -> None:
    with sqlite3.connect(path) as db:
        db.execute("UPDATE meta SET value='99' WHERE key='version'")
    db.close()


def _other_sqlite(path: Path) -> None:
    path.unlink()
    with sqlite3.connect(path) as db:
        db.execute("CREATE TABLE t (x)")
    db.close()


def _versionless(path: Path) -> None:
    with sqlite3.connect(path) as db:
        db.execute("DELETE FROM meta")
    db.close()


def _damaged(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[4096:8192] = bytes(4096)
    path.write_bytes(content)


def _made_anew(statements: str) -> Callable[[Path], None]:
    def change(path: Path) -> None:
        with sqlite3.connect(path) as db:
            db.executescript(statements)
        db.close()

    return change


ENDLESS = "WITH RECURSIVE more(id) AS (SELECT 1 UNION ALL SELECT id + 1 FROM more) SELECT id FROM more"
PROGRAMS = "no dump of the embedded instance: it has a {}, and a dump has tables and indexes alone"
FLUX = (
    "a dump of Flux (a tar archive); this is the embedded instance, "
    "which restores only dumps of the embedded instance"
)


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        pytest.param(_tar, FLUX, id="real Flux's"),
        pytest.param(lambda p: p.write_bytes(b"\x1f\x8b" + bytes(600)), FLUX, id="real Flux's, compressed"),
        pytest.param(
            lambda p: p.write_bytes(p.read_bytes()[:6000]),
            "the dump is truncated or damaged: ",
            id="truncated",
        ),
        pytest.param(
            lambda p: p.write_bytes(p.read_bytes()[:10]), "the dump is truncated or damaged: ", id="cut early"
        ),
        pytest.param(_damaged, "the dump is truncated or damaged: ", id="damaged"),
        pytest.param(lambda p: p.write_bytes(b""), "no dump of the embedded instance", id="empty"),
        pytest.param(lambda p: p.write_text("hello"), "no dump of the embedded instance", id="another file"),
        pytest.param(
            _other_sqlite, "an SQLite file, but no dump of the embedded instance", id="another SQLite file"
        ),
        pytest.param(_newer, "a dump of the embedded instance, version 99; this reads up to 1", id="newer"),
        pytest.param(
            _versionless, "a dump of the embedded instance, version none; this reads up to 1", id="no version"
        ),
        pytest.param(
            _made_anew(f"DROP TABLE jobs; CREATE VIEW jobs AS {ENDLESS};"),
            PROGRAMS.format("view 'jobs'"),
            id="endless jobs",
        ),
        pytest.param(
            _made_anew(f"DROP TABLE meta; CREATE VIEW meta AS {ENDLESS};"),
            PROGRAMS.format("view 'meta'"),
            id="endless values",
        ),
        pytest.param(
            _made_anew("CREATE TRIGGER t AFTER INSERT ON jobs BEGIN DELETE FROM jobs; END;"),
            PROGRAMS.format("trigger 't'"),
            id="a trigger",
        ),
        pytest.param(
            _made_anew("DROP TABLE output; CREATE VIRTUAL TABLE output USING rtree(id, a, b);"),
            PROGRAMS.format("virtual table 'output'"),
            id="a virtual table",
        ),
        pytest.param(lambda p: p.unlink(), "the dump cannot be read: No such file or directory", id="absent"),
    ],
)
def test_what_is_no_dump_is_refused(kit: Any, tmp_path: Path, dumped: Any, spoil: Any, reason: str) -> None:
    path, _ = dumped
    spoil(path)
    (tmp_path / "new").mkdir()
    with pytest.raises(DumpError) as error:
        kit.Bench(tmp_path / "new", restore=str(path))
    assert str(error.value).startswith(f"{path}: {reason}")
    assert list((tmp_path / "new").iterdir()) == []


def test_a_dump_that_fails_leaves_the_old_one(dumped: Any) -> None:
    path, _ = dumped
    before = path.read_bytes()

    def fail(target: Path) -> None:
        target.write_bytes(before[:5000])

    with pytest.raises(DumpError, match="truncated or damaged"):
        dump.write(fail, path)
    assert path.read_bytes() == before
    assert [each.name for each in path.parent.iterdir() if "partial" in each.name] == []


@pytest.fixture
def open_umask() -> Iterator[None]:
    """New files are everybody's to read, unless a program makes them otherwise."""
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.mark.usefixtures("open_umask")
def test_only_its_owner_can_read_what_is_restored(kit: Any, tmp_path: Path, dumped: Any) -> None:
    """It is the same as in the dump."""
    (tmp_path / "new").mkdir()
    bench = kit.Bench(tmp_path / "new", restore=str(dumped[0]))
    assert {each.stat().st_mode & 0o777 for each in (tmp_path / "new").iterdir()} == {0o600}
    bench.engine.close()


@pytest.mark.usefixtures("open_umask")
def test_only_its_owner_can_read_a_dump(dumped: Any) -> None:
    """At no moment can anybody else, nor foresee the name under which it is written."""
    path, _ = dumped
    content = path.read_bytes()
    path.chmod(0o644)
    written: dict[str, int] = {}

    def copy_to(target: Path) -> None:
        written[target.name] = target.stat().st_mode & 0o777
        target.write_bytes(content)

    for _ in range(2):
        dump.write(copy_to, path)
    assert path.stat().st_mode & 0o777 == 0o600
    assert (len(written), set(written.values())) == (2, {0o600})
    assert [each for each in path.parent.iterdir() if "partial" in each.name] == []


LEFTOVERS = {
    ".mc.dump.partial": True,
    ".mc.dump.a1b2c3d4.partial": True,
    ".mc.dump.a1b2c3d4.partial.tar.gz": True,
    "..mc.dump.a1b2c3d4.partial.tar.e5f6_7h8.partial": True,
    ".mc.dump.other.partial": False,
    ".other.mc.dump.a1b2c3d4.partial": False,
    "mc.dump.a1b2c3d4.partial": False,
}


def test_what_interrupted_writers_left_goes(dumped: Any) -> None:
    """That of other files stays."""
    path, _ = dumped
    for name in LEFTOVERS:
        (path.parent / name).touch()
    content = path.read_bytes()

    def copy_to(target: Path) -> None:
        target.write_bytes(content)

    dump.write(copy_to, path)
    assert {name: not (path.parent / name).exists() for name in LEFTOVERS} == LEFTOVERS


@pytest.mark.parametrize("path", ["/proc/mc.dump", "/nonexistent/mc.dump"])
def test_a_dump_that_cannot_be_written_reports_it(bench: Any, path: str) -> None:
    with pytest.raises(RpcError) as refusal:
        bench.call("content.dump", path=path)
    assert refusal.value.text.startswith(f"{path}: the dump cannot be written: ")


def test_a_restore_that_cannot_be_written_reports_it(dumped: Any) -> None:
    path, _ = dumped
    with pytest.raises(DumpError, match=f"{path} cannot be restored to /proc/jobs.sqlite: "):
        dump.restore(path, Path("/proc/jobs.sqlite"), lambda _level, _text: None)
