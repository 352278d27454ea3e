"""Restoring at start and saving at stop (archive.path, MINICLUSTER_RESTORE)."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import shutil

import pytest

from broker_config.settings import (
    Archive,
    Command,
)
from broker_config.settings import BrokerSettings as Settings

PLAIN = Settings("mc", size=2, command=Command("true"))


def settings(line="true", **more):
    return Settings("mc", size=2, command=Command(line), **more)


def needs(program):
    return pytest.mark.skipif(shutil.which(program) is None, reason=f"there is no {program}")


class TestArchive:
    """archive.path: restored from at start, dumped to at stop."""

    @pytest.fixture
    def archive(self, pod):
        return pod.directory / "saved" / "dump.tgz"

    def archived(self, archive, line="true", **more):
        return settings(line, archive=Archive(str(archive), drain_timeout=5), **more)

    def test_first_start_has_nothing_to_restore(self, pod, archive):
        """The broker is only told where to dump."""
        pod.start(self.archived(archive))
        options = [word for word in pod.call("broker") if word.startswith("-Scontent")]
        assert options == [f"-Scontent.dump={archive.parent}/.saving.dump.tgz"]

    def test_running_jobs_may_finish_before_the_dump(self, pod, archive):
        """No job starts any more, then the queue is waited for."""
        pod.start(self.archived(archive))
        assert [words[1:] for words in pod.calls()[-2:]] == [
            ["queue", "stop", "--all"],
            ["queue", "idle", "--timeout=5s"],
        ]

    @pytest.mark.parametrize(
        ("name", "written"),
        [
            pytest.param("dump.tgz", gzip.compress(b"new"), id="gzip"),
            pytest.param("dump.tar", b"new" + bytes(2048), id="tar"),
            pytest.param("dump.tar.bz2", bz2.compress(b"new"), id="bzip2"),
            pytest.param("dump.tar.xz", lzma.compress(b"new"), id="xz"),
            pytest.param("dump.tgz", b"SQLite format 3\0", id="embedded"),
            pytest.param("dump", b"new", id="unknown"),
        ],
    )
    def test_whole_dump_takes_the_archives_place(self, pod, archive, name, written):
        """Whatever its form."""
        (pod.directory / "new").write_bytes(written)
        archive = archive.with_name(name)
        result = pod.start(self.archived(archive, f"cp new saved/.saving.{name}"))
        assert (archive.read_bytes(), result.code) == (written, 0)

    @pytest.mark.parametrize(
        ("name", "written"),
        [
            pytest.param("dump.tgz", gzip.compress(b"new")[:-3], id="gzip"),
            pytest.param("dump.tar", b"new" + bytes(2048) + b"x", id="tar"),
            pytest.param("dump.tar.bz2", bz2.compress(b"new")[:-3], id="bzip2", marks=needs("bzip2")),
            pytest.param("dump.tar.xz", lzma.compress(b"new")[:-3], id="xz", marks=needs("xz")),
        ],
    )
    def test_dump_that_was_cut_short_is_given_up(self, pod, archive, name, written):
        """Flux ends with the command's code all the same."""
        (pod.directory / "new").write_bytes(written)
        archive = archive.with_name(name)
        archive.parent.mkdir()
        archive.write_text("old")
        result = pod.start(self.archived(archive, f"cp new saved/.saving.{name}"))
        assert (archive.read_text(), [path.name for path in archive.parent.iterdir()]) == ("old", [name])
        assert f"nothing was saved to {archive}, what it held is kept" in result.err

    def test_dump_that_nobody_can_check_is_kept(self, pod, archive):
        """And a warning says what would be needed."""
        (pod.directory / "new").write_bytes(b"new")
        archive = archive.with_name("dump.zip")
        result = pod.start(self.archived(archive, "cp new saved/.saving.dump.zip"))
        assert archive.read_bytes() == b"new"
        assert "nobody here can tell whether the dump is whole: a name ending in .tar" in result.err

    def test_failed_dump_keeps_the_older_one(self, pod, archive):
        """And says so."""
        archive.parent.mkdir()
        archive.write_text("old")
        result = pod.start(self.archived(archive))
        assert archive.read_text() == "old"
        assert f"nothing was saved to {archive}" in result.err

    def test_existing_archive_is_restored_and_the_queues_started(self, pod, archive):
        """Before the command is looked at."""
        archive.parent.mkdir()
        archive.write_text("old")
        result = pod.start(self.archived(archive))
        assert f"-Scontent.restore={archive}" in pod.call("broker")
        assert pod.call("queue", "start")
        assert f"restoring from {archive}" in result.err

    def test_main_job_in_the_dump_is_attached_to(self, pod, archive):
        """It is known by its attribute, and not submitted again."""
        archive.parent.mkdir()
        archive.write_text("old")
        (pod.directory / "jobs" / "5").write_text(
            '{"attributes": {"user": {}}, "x": "minicluster main true"}'
        )
        (pod.directory / "jobs" / "16").write_text('{"user": {"minicluster": {"main": true}}}')
        result = pod.start(self.archived(archive, "echo again"))
        assert pod.call("job", "attach")[3] == "16"
        assert (result.code, result.out) == (16, "")

    def test_main_job_not_in_the_dump_is_submitted(self, pod, archive):
        """Other jobs are not taken for it."""
        archive.parent.mkdir()
        archive.write_text("old")
        (pod.directory / "jobs" / "5").write_text("{}")
        assert pod.start(self.archived(archive, "echo first")).out == "first\n"

    def test_kept_state_counts_as_restored(self, pod):
        """A lead that comes back to its state volume attaches as well."""
        state = pod.run_directory / "state"
        state.mkdir(parents=True)
        (state / "content.sqlite").touch()
        (pod.directory / "jobs" / "7").write_text('{"user": {"minicluster": {"main": true}}}')
        assert pod.start(PLAIN).code == 7

    def test_restore_that_is_not_there_is_refused(self, pod):
        """MINICLUSTER_RESTORE was asked for explicitly."""
        result = pod.start(PLAIN, MINICLUSTER_RESTORE="/no/dump")
        assert result.code == 1
        assert "cannot read /no/dump, which is to be restored" in result.err

    def test_sigterm_saves_first(self, pod, archive, wait_for):
        """The queues are stopped and waited for before the broker is told to end."""
        process = pod.popen(self.archived(archive), STUB_PLAN="wait")
        wait_for((pod.directory / "calls.waiting").exists)
        process.terminate()
        _, err = process.communicate(timeout=20)
        assert process.returncode == 143
        verbs = [words[:3] for words in pod.calls()]
        assert verbs[1:3] == [["flux", "queue", "stop"], ["flux", "queue", "idle"]]
        assert verbs[-1] == ["broker", "SIGTERM"]
        assert f"saving to {archive}: no job starts any more, running ones have 5 s" in err

    @pytest.mark.parametrize(
        ("attributes", "expected"),
        [
            pytest.param({"system": {}}, {"restart_of": 9}, id="no-user"),
            pytest.param({"user": {}, "system": {}}, {"restart_of": 9}, id="empty-user"),
            pytest.param({"user": {"a": 1}}, {"restart_of": 9}, id="other-user"),
            pytest.param({"user": {"minicluster": {}}}, {"restart_of": 9}, id="empty-ours"),
            pytest.param(
                {"user": {"minicluster": {"main": True}}}, {"restart_of": 9, "main": True}, id="ours"
            ),
        ],
    )
    @pytest.mark.parametrize("separators", [(",", ":"), (", ", ": ")], ids=["dense", "spaced"])
    def test_jobs_that_do_not_finish_are_submitted_again(
        self, pod, archive, attributes, expected, separators
    ):
        """Within drainTimeoutSeconds; the new one waits in the dump, and names the old one."""
        tasks = [{"command": ["sh", "-c", 'echo {"user": {"minicluster": {}}} /&']}]
        text = json.dumps({"tasks": tasks, "attributes": attributes}, separators=separators)
        (pod.directory / "jobs" / "9").write_text(text)
        result = pod.start(self.archived(archive), STUB_IDLE="1", STUB_RUNNING="9")
        again = json.loads((pod.directory / "calls.submitted").read_text())
        assert "still runs: it is started again after the restore, as fNEW" in result.err
        assert (again["tasks"], again["attributes"]["user"]["minicluster"]) == (tasks, expected)

    def test_jobs_that_cannot_be_submitted_again_are_named(self, pod, archive):
        """The embedded instance has no `flux job submit`."""
        result = pod.start(self.archived(archive), STUB_IDLE="1", STUB_RUNNING="9", STUB_SUBMIT="no")
        assert "after 5 s (drainTimeoutSeconds) job f9 still runs, and is lost" in result.err
