"""Restoring at start and saving at stop (archive.path, MINICLUSTER_RESTORE)."""

from __future__ import annotations

import bz2
import contextlib
import gzip
import io
import json
import lzma
import signal
import sqlite3
import tarfile

import pytest

from broker_config.settings import ArchiveSettings, Command, RunMode
from broker_config.settings import BrokerSettings as Settings
from minicluster.save_restore.state_files import StateFiles

PLAIN = Settings("mc", size=2, command=Command("true"))
MAIN = '{"user": {"minicluster": {"main": true}}}'


def tar(text: bytes) -> bytes:
    """An archive with one file, as Flux writes dumps."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        entry = tarfile.TarInfo("job")
        entry.size = len(text)
        archive.addfile(entry, io.BytesIO(text))
    return packed.getvalue()


TAR = tar(b"new")
OLD, NEW = gzip.compress(tar(b"old")), gzip.compress(TAR)


def settings(line="true", **more):
    return Settings("mc", size=2, command=Command(line), **more)


class TestArchive:
    """archive.path: restored from at start, dumped to at stop."""

    @pytest.fixture
    def archive(self, pod):
        return pod.directory / "saved" / "dump.tgz"

    def archived(self, archive, line="true", **more):
        return settings(line, archive=ArchiveSettings(str(archive), drain_timeout=5), **more)

    def test_first_start_has_nothing_to_restore(self, pod, archive):
        """The broker is only told where to dump."""
        pod.start(self.archived(archive))
        options = [word for word in pod.call("broker") if word.startswith("-Scontent")]
        assert options == [f"-Scontent.dump={archive.parent}/.saving.dump.tgz"]

    def test_jobs_are_brought_to_rest_before_the_dump(self, pod, archive):
        """By the command that comes with the script; what it is told are the document's seconds."""
        pod.start(self.archived(archive))
        assert pod.call("saving", "settle")[3:] == ["5", str(archive)]

    @pytest.mark.parametrize(
        ("name", "written"),
        [
            pytest.param("dump.tgz", gzip.compress(TAR), id="gzip"),
            pytest.param("dump.tar", TAR, id="tar"),
            pytest.param("dump.tar.bz2", bz2.compress(TAR), id="bzip2"),
            pytest.param("dump.tar.xz", lzma.compress(TAR), id="xz"),
        ],
    )
    def test_whole_dump_replaces_the_archive(self, pod, archive, name, written):
        """Whatever its form."""
        (pod.directory / "new").write_bytes(written)
        archive = archive.with_name(name)
        result = pod.start(self.archived(archive, f"cp new saved/.saving.{name}"))
        assert (archive.read_bytes(), result.code) == (written, 0)

    def test_dump_that_was_cut_short_is_given_up(self, pod, archive):
        """Flux ends with the command's code all the same."""
        (pod.directory / "new").write_bytes(gzip.compress(TAR)[:-3])
        archive.parent.mkdir()
        archive.write_bytes(OLD)
        result = pod.start(self.archived(archive, "cp new saved/.saving.dump.tgz"))
        assert [(each.name, each.read_bytes()) for each in archive.parent.iterdir()] == [("dump.tgz", OLD)]
        assert f"nothing was saved to {archive}, what it held is kept" in result.err

    def test_only_its_owner_can_read_it(self, pod, archive):
        """While Flux writes, and afterwards, whatever an interrupted save left and the umask allows."""
        (pod.directory / "new").write_bytes(NEW)
        archive.parent.mkdir()
        for path in (archive, archive.with_name(".saving.dump.tgz")):
            path.write_bytes(OLD)
            path.chmod(0o644)
        result = pod.start(
            self.archived(archive, "ls -l saved/.saving.dump.tgz >mode; cat new >saved/.saving.dump.tgz")
        )
        assert (result.code, archive.read_bytes()) == (0, NEW)
        assert (pod.directory / "mode").read_text().split()[0] == "-rw-------"
        assert [(each.name, each.stat().st_mode & 0o777) for each in archive.parent.iterdir()] == [
            ("dump.tgz", 0o600)
        ]

    @pytest.mark.parametrize("theirs", ["file", "link"])
    def test_flux_writes_into_nothing_of_another_user(self, pod, archive, theirs):
        """It cannot be removed from a directory for all users, and they would read the dump."""
        archive.parent.mkdir()
        made = archive.with_name(".saving.dump.tgz")
        remove = pod.directory / "bin" / "rm"
        remove.write_text("#!/bin/sh\n")
        remove.chmod(0o755)
        if theirs == "link":
            made.symlink_to(pod.directory / "bin" / "flux")
        else:
            made.touch()
        result = pod.start(self.archived(archive))
        assert [word for word in pod.call("broker") if word.startswith("-Scontent.dump")] == []
        assert f"{made} is another user's: nothing will be saved before it is removed" in result.err

    def test_failed_dump_keeps_the_older_one(self, pod, archive):
        """And says so."""
        archive.parent.mkdir()
        archive.write_bytes(OLD)
        result = pod.start(self.archived(archive))
        assert archive.read_bytes() == OLD
        assert "the dump was not written" in result.err

    def test_existing_archive_is_restored_and_the_queues_started(self, pod, archive):
        """Before the command is looked at; what does not fit is looked for first."""
        self.restorable(archive)
        result = pod.start(self.archived(archive))
        assert f"-Scontent.restore={archive}" in pod.call("broker")
        calls = [words[1:3] for words in pod.calls()]
        assert calls.index(["saving", "resume"]) < calls.index(["queue", "start"])
        assert f"restoring from {archive}" in result.err

    @pytest.mark.parametrize(
        ("written", "words"),
        [
            pytest.param(OLD[:-3], "the dump is truncated or damaged", id="truncated"),
            pytest.param(b"", "no dump, or one that is truncated", id="empty"),
            pytest.param(b"hello", "no dump, or one that is truncated", id="none"),
        ],
    )
    def test_dump_that_cannot_be_restored_ends_the_start(self, pod, archive, written, words):
        """It is not overwritten by an instance that begins with nothing; the last message says why."""
        archive.parent.mkdir()
        archive.write_bytes(written)
        result = pod.start(self.archived(archive))
        assert (result.code, archive.read_bytes()) == (1, written)
        assert words in json.loads(pod.termination)["error"]

    def test_dump_of_the_other_engine_is_refused(self, pod, archive, tmp_path):
        """Both are named."""
        archive.parent.mkdir()
        with contextlib.closing(sqlite3.connect(archive)) as database:
            database.execute("CREATE TABLE jobs (id)")
        pod.start(self.archived(archive))
        error = json.loads(pod.termination)["error"]
        assert "was written by the embedded instance, and this is Flux, which cannot read it" in error

    def test_restore_that_was_cut_off_is_begun_anew(self, pod, archive):
        """What it left in the state directory is not the instance's own state."""
        self.restorable(archive)
        state = pod.run_directory / "state"
        state.mkdir(parents=True)
        for name in ("restoring", "content.sqlite"):
            (state / name).touch()
        pod.start(self.archived(archive))
        assert f"-Scontent.restore={archive}" in pod.call("broker")
        assert not (state / "content.sqlite").exists()

    def test_restore_that_fails_is_reported(self, pod, archive):
        """And nothing of it is taken for the instance's state, or saved."""
        self.restorable(archive)
        result = pod.start(self.archived(archive), STUB_PLAN="1", STUB_QUEUE="1")
        assert (result.code, archive.read_bytes()) == (1, OLD)
        error = json.loads(pod.termination)["error"]
        assert error.startswith(f"cannot restore from {archive}: the broker ended with 1")
        assert ["saving", "keep"] not in [words[1:3] for words in pod.calls()]

    def test_lead_that_is_terminated_while_it_restores_saves_nothing(self, pod, archive, wait_for):
        """What is restored in part would be saved in part."""
        self.restorable(archive)
        process = pod.popen(self.archived(archive), STUB_PLAN="wait", STUB_QUEUE="1", STUB_SETTLE="fail")
        wait_for((pod.directory / "calls.waiting").exists)
        process.terminate()
        process.communicate(timeout=60)
        assert (process.returncode, archive.read_bytes()) == (143, OLD)
        assert ["saving", "keep"] not in [words[1:3] for words in pod.calls()]

    def restorable(self, archive):
        archive.parent.mkdir()
        archive.write_bytes(OLD)

    def test_main_job_in_the_dump_is_attached_to(self, pod, archive):
        """It is known by its attribute, and not submitted again."""
        self.restorable(archive)
        self.job(pod, "5.COMPLETED", '{"attributes": {"user": {}}, "x": "minicluster main true"}')
        self.job(pod, "16.FAILED", MAIN)
        result = pod.start(self.archived(archive, "echo again"))
        assert pod.call("job", "attach")[3] == "16"
        assert (result.code, result.out) == (16, "")

    def job(self, pod, name, text):
        (pod.directory / "jobs" / name).write_text(text)

    def test_copy_of_the_main_job_that_was_given_up_is_not_attached_to(self, pod, archive):
        """Its original finished after all."""
        self.restorable(archive)
        self.job(pod, "4.COMPLETED", MAIN)
        self.job(pod, "6.CANCELED", MAIN)
        pod.start(self.archived(archive))
        assert pod.call("job", "attach")[3] == "4"

    def test_main_job_that_was_cancelled_is_attached_to(self, pod, archive):
        """Where there is no other: the newest."""
        self.restorable(archive)
        self.job(pod, "4.CANCELED", MAIN)
        self.job(pod, "6.CANCELED", MAIN)
        pod.start(self.archived(archive))
        assert pod.call("job", "attach")[3] == "6"

    def test_main_job_that_is_started_again_is_followed(self, pod, archive):
        """Its copy's code counts."""
        for name in ("12", "10"):
            self.job(pod, name, '{"user": {"minicluster": {"main": true, "restart_of": 3}}}')
        result = pod.start(self.archived(archive, "sh -c 'exit 3'"))
        assert [words[3] for words in pod.calls() if words[1:3] == ["job", "attach"]] == ["12"]
        assert result.code == 12

    def test_main_job_that_failed_is_not_followed(self, pod, archive):
        """Also while it is still listed as running."""
        self.job(pod, "3", MAIN)
        assert pod.start(self.archived(archive, "sh -c 'exit 3'")).code == 3
        assert ["job", "attach"] not in [words[1:3] for words in pod.calls()]

    def test_main_job_not_in_the_dump_is_submitted(self, pod, archive):
        """Other jobs are not taken for it."""
        self.restorable(archive)
        self.job(pod, "5", "{}")
        assert pod.start(self.archived(archive, "echo first")).out == "first\n"

    def test_kept_state_counts_as_restored(self, pod):
        """A lead that comes back to its state volume attaches as well."""
        state = pod.run_directory / "state"
        state.mkdir(parents=True)
        (state / "content.sqlite").touch()
        self.job(pod, "7.FAILED", MAIN)
        assert pod.start(PLAIN).code == 7

    def test_restore_that_is_not_there_is_refused(self, pod):
        """MINICLUSTER_RESTORE was asked for explicitly."""
        result = pod.start(PLAIN, MINICLUSTER_RESTORE="/no/dump")
        assert result.code == 1
        assert "cannot read /no/dump, which is to be restored" in result.err

    def test_sigterm_saves_first(self, pod, archive, wait_for):
        """Jobs are brought to rest before the broker is told to end."""
        process = pod.popen(self.archived(archive), STUB_PLAN="wait")
        wait_for((pod.directory / "calls.waiting").exists)
        process.terminate()
        process.communicate(timeout=20)
        assert (process.returncode, pod.termination) == (143, "143\n")
        verbs = [words[1:3] for words in pod.calls()]
        assert verbs[1:3] == [["saving", "settle"], ["resource", "status"]]
        assert verbs.index(["SIGTERM"]) < verbs.index(["saving", "keep"])

    def test_without_what_saves_nothing_is_started(self, pod, archive):
        """Real Flux needs the zip beside the script."""
        (pod.config / "flux_modules.zip").unlink()
        result = pod.start(self.archived(archive))
        assert (result.code, pod.calls()) == (1, [])
        assert "flux_modules.zip, which saves real Flux's jobs" in result.err


class TestOrder:
    """What the lead API orders: a save, and then an end with 75."""

    @pytest.fixture
    def archive(self, pod):
        archive = pod.directory / "saved" / "dump.tgz"
        archive.parent.mkdir()
        archive.write_bytes(OLD)
        return archive

    @pytest.fixture
    def ordered(self, pod, archive, wait_for):
        """A lead that got the order, and what its broker does about its dump."""
        (pod.directory / "new").write_bytes(NEW)

        def begin(plan="dump", settings=None, **more):
            environment = {"STUB_PLAN": plan, "STUB_DUMP": str(pod.directory / "new"), **more}
            chosen = settings or Settings("mc", size=2, archive=ArchiveSettings(str(archive)))
            process = pod.popen(chosen, **environment)
            wait_for((pod.directory / "calls.waiting").exists)
            self.order(pod, process)
            return process

        return begin

    def order(self, pod, process):
        assert int((pod.run_directory / "pid").read_text()) == process.pid
        StateFiles(str(pod.run_directory)).order(3)
        process.send_signal(signal.SIGUSR1)

    def test_ends_with_75_and_reports_what_was_saved(self, pod, archive, ordered):
        """The dump is in the archive's place by then."""
        process = ordered()
        process.communicate(timeout=60)
        assert (process.returncode, archive.read_bytes()) == (75, NEW)
        assert json.loads(pod.termination) == {
            "saved": str(archive), "bytes": len(NEW), "jobs": 0, "restarted": [], "lost": [],
            "restarted_total": 0, "lost_total": 0,
        }  # fmt: skip

    def test_followers_are_sent_off_before(self, pod, ordered):
        """They come back to the lead that restores."""
        ordered().communicate(timeout=60)
        sent = [words[3] for words in pod.calls() if words[1:3] == ["overlay", "disconnect"]]
        assert sent == ["1", "2", "5"]

    def test_launcher_command_is_lost(self, pod, archive, ordered):
        """It is no job; the message says so."""
        launcher = Settings(
            "mc", mode=RunMode.LAUNCHER, command=Command("true"), archive=ArchiveSettings(str(archive))
        )
        ordered(settings=launcher).communicate(timeout=60)
        ((_, why),) = json.loads(pod.termination)["lost"]
        assert why.startswith("the main command is no job (flux.launcher)")

    def test_dump_that_failed_lets_the_instance_go_on(self, pod, archive, ordered, wait_for):
        """From its state directory, in place; the older archive stays, and the next order begins anew."""
        process = ordered("wait dump")
        wait_for(lambda: (pod.directory / "calls.waiting").read_text() == "xx")
        assert (archive.read_bytes(), process.poll()) == (OLD, None)
        state_files = StateFiles(str(pod.run_directory))
        assert state_files.saving()["phase"] == "failed"
        assert "the dump was not written" in state_files.saving()["error"]
        assert state_files.ordered_timeout() is None
        wait_for(lambda: ["queue", "start"] in [words[1:3] for words in pod.calls()])
        self.order(pod, process)
        process.communicate(timeout=60)
        assert (process.returncode, archive.read_bytes()) == (75, NEW)
        brokers = [words for words in pod.calls() if words[1:2] == ["broker"]]
        assert not [word for word in brokers[1] if "content.restore" in word]

    def test_broker_that_cannot_go_on_at_once_is_started_again(self, pod, ordered, wait_for):
        """The state directory is all there is of the jobs."""
        process = ordered("wait 1 1 dump")
        wait_for(lambda: (pod.directory / "calls.waiting").read_text() == "xx")
        process.terminate()
        _, err = process.communicate(timeout=60)
        assert "the broker ended with 1 before the instance ran; it is started again in 2 s" in err

    def test_jobs_that_cannot_be_brought_to_rest_end_the_save(self, pod, archive, ordered, wait_for):
        """The broker runs on, and the queues start."""
        process = ordered(STUB_SETTLE="fail")
        wait_for(lambda: not (pod.run_directory / "save").exists())
        assert (process.poll(), ["broker", "SIGTERM"] in pod.calls()) == (None, False)
        verbs = [words[1:3] for words in pod.calls()]
        assert verbs.index(["saving", "fail"]) < len(verbs) - 1 - verbs[::-1].index(["queue", "start"])
        assert StateFiles(str(pod.run_directory)).saving()["phase"] == "failed"
        process.terminate()
        process.communicate(timeout=60)
        assert process.returncode == 143

    def test_sigterm_during_the_save_changes_nothing(self, pod, ordered, wait_for):
        """The followers are sent off all the same, and the saved lead is replaced."""
        process = ordered(STUB_SETTLE="block")
        wait_for((pod.directory / "calls.settling").exists)
        process.terminate()
        (pod.directory / "calls.settled").touch()
        process.communicate(timeout=60)
        assert process.returncode == 75
        verbs = [words[1:3] for words in pod.calls()]
        assert verbs.index(["overlay", "disconnect"]) < verbs.index(["SIGTERM"])

    def test_sigterm_during_a_save_that_fails_ends_the_lead(self, pod, ordered, wait_for):
        """It is not started again in place."""
        process = ordered("wait", STUB_SETTLE="block")
        wait_for((pod.directory / "calls.settling").exists)
        process.terminate()
        (pod.directory / "calls.settled").touch()
        process.communicate(timeout=60)
        assert (process.returncode, pod.termination) == (143, "143\n")
