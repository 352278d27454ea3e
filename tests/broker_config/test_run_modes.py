"""How the lead runs the command: plain, launcher, batch, interactive."""

from __future__ import annotations

import pytest

from broker_config import start_script
from broker_config.settings import BrokerSettings as Settings
from broker_config.settings import (
    Command,
    HookScripts,
    LoggingSettings,
    RunMode,
    Submit,
)

PLAIN = Settings("mc", size=2, command=Command("true"))
QUIET = LoggingSettings(quiet=True)
MAIN = "--setattr=user.minicluster.main=true"


def settings(line="true", **more):
    return Settings("mc", size=2, command=Command(line), **more)


class TestPlain:
    """RunMode.PLAIN: one job made from the command."""

    @pytest.mark.parametrize(
        ("tasks", "flags"),
        [
            pytest.param(0, ["-N2"], id="no-tasks"),
            pytest.param(1, ["-n1"], id="fewer-than-size"),
            pytest.param(2, ["-N2", "-n2"], id="as-size"),
            pytest.param(5, ["-N2", "-n5"], id="more-than-size"),
        ],
    )
    def test_tasks(self, pod, tasks, flags):
        """0 tasks: only -N; from the size on: -N and -n; else only -n."""
        pod.start(settings(submit=Submit(tasks=tasks)))
        assert pod.call("submit")[2:] == [*flags, MAIN, "--quiet", "--watch", "true"]

    @pytest.mark.parametrize(
        ("line", "argv"),
        [
            pytest.param("lmp -in 'in file' \"a  b\"", ["lmp", "-in", "in file", "a  b"], id="quotes"),
            pytest.param("echo $WHERE \"$WHERE\" '$WHERE'", ["echo", "a", "b", "a b", "$WHERE"], id="dollar"),
            pytest.param("echo `echo x` $(echo 'y)')", ["echo", "x", "y)"], id="substitution"),
            pytest.param("echo a\\\n  b", ["echo", "a", "b"], id="continued-line"),
            pytest.param("echo é", ["echo", "é"], id="non-ascii"),
            pytest.param("echo a; echo b", ["sh", "-c", "echo a; echo b"], id="two-commands"),
            pytest.param("echo a\necho b", ["sh", "-c", "echo a\necho b"], id="two-lines"),
            pytest.param("a > /tmp/$X", ["sh", "-c", "a > /tmp/$X"], id="redirection"),
            pytest.param("A=1 prog", ["sh", "-c", "A=1 prog"], id="assignment"),
            pytest.param("cd /tmp", ["sh", "-c", "cd /tmp"], id="builtin"),
            pytest.param("echo 'open", ["sh", "-c", "echo 'open"], id="open-quote"),
        ],
    )
    def test_line_is_expanded_once(self, pod, line, argv):
        """A simple command by the lead's shell; anything else by one shell in the task."""
        pod.start(settings(line), WHERE="a b")
        assert pod.call("submit")[6:] == argv

    def test_exit_code_is_the_commands(self, pod):
        """7 stays 7, for whoever waits and in the termination log."""
        result = pod.start(settings("sh -c 'exit 7'"))
        assert (result.code, pod.termination) == (7, "7\n")

    @pytest.mark.parametrize("code", [75, 137, 143])
    def test_codes_that_would_ask_for_a_new_pod_become_1(self, pod, code):
        """The true one is in the termination log."""
        result = pod.start(settings(f"sh -c 'exit {code}'"))
        assert (result.code, pod.termination) == (1, f"{code}\n")

    def test_command_that_is_not_there_ends_with_127(self, pod):
        """As in every shell."""
        assert pod.start(settings("/no/such/program")).code == 127

    def test_option_flags_are_words_of_their_own(self, pod):
        """Quotes in them are kept together."""
        pod.start(settings(submit=Submit(option_flags="-ocpu-affinity=off --env='A=b c'")))
        assert pod.call("submit")[4:6] == ["-ocpu-affinity=off", "--env=A=b c"]

    def test_debug_makes_flux_verbose(self, pod):
        """logging.debug."""
        pod.start(settings(logging=LoggingSettings(debug=True)))
        assert "-vvv" in pod.call("submit")

    def test_output_can_be_labelled(self, pod):
        """Several tasks' lines can be told apart: each carries its rank."""
        pod.start(settings(submit=Submit(label_output=True)))
        assert "--label-io" not in pod.call("submit")
        assert pod.call("job")[2:4] == ["attach", "--label-io"]

    def test_labels_of_several_jobs_carry_their_ids(self, pod):
        """The user's own flags may make several jobs of the command (--cc)."""
        pod.start(settings(submit=Submit(label_output=True, option_flags="--cc=1-2")))
        assert {"--watch", "--label-io"} <= set(pod.call("submit"))

    def test_submit_command_replaces_flux_submit(self, pod):
        """flux.submitCommand; `flux run` watches by itself."""
        pod.start(settings("echo hi", submit=Submit(command="flux run -u")))
        assert pod.call("run")[2:] == ["-u", "-n1", MAIN, "echo", "hi"]

    def test_prefix_comes_before_the_submission(self, pod):
        """commands.prefix."""
        result = pod.start(settings("sh -c 'echo $FOO'", hooks=HookScripts(prefix="env FOO='a b'")))
        assert result.out == "a b\n"

    def test_environment_is_exported_verbatim(self, pod):
        """flux.environment: no character of a value is the shell's business."""
        value = 'it\'s $HOME `x` "é"\n'
        result = pod.start(settings("printenv FOO", environment={"FOO": value}))
        assert result.out == value + "\n"

    @pytest.mark.parametrize(
        ("script", "output"),
        [
            pytest.param("echo $((6 * 7))\n", "42\n", id="shell"),
            pytest.param("#!/usr/bin/env python3\nprint(6 * 7)\n", "42\n", id="interpreter"),
        ],
    )
    def test_script_replaces_the_command(self, pod, script, output):
        """commands.script, under the interpreter that it names."""
        result = pod.start(Settings("mc", hooks=HookScripts(script=script)))
        assert (result.code, result.out) == (0, output)


class TestLauncher:
    """RunMode.LAUNCHER: the command submits by itself."""

    def test_runs_without_a_job(self, pod):
        """The command is the lead's own program."""
        result = pod.start(settings("echo a; exit 5", mode=RunMode.LAUNCHER))
        assert (result.code, result.out, len(pod.calls())) == (5, "a\n", 1)

    def test_script(self, pod):
        """commands.script works here too."""
        result = pod.start(Settings("mc", mode=RunMode.LAUNCHER, hooks=HookScripts(script="exit 6\n")))
        assert result.code == 6

    def test_names_of_the_scripts_own_functions_are_no_commands(self, pod):
        """A list is executed, never looked up in a shell."""
        result = pod.start(Settings("mc", mode=RunMode.LAUNCHER, command=Command(args=("say", "hi"))))
        assert result.code == 127


class TestBatch:
    """RunMode.BATCH: each line a job."""

    LINES = "echo one\n\n# no job\n-n2 sh -c 'exit 3'\necho two | tee x\n"

    def test_each_line_is_a_job_with_its_own_files(self, pod):
        """Comments and empty lines are none."""
        pod.start(settings(self.LINES, mode=RunMode.BATCH))
        submits = [words for words in pod.calls() if words[1] == "submit"]
        logs = pod.directory / "logs"
        assert submits[1] == [
            *("flux", "submit", f"--output={logs}/job-1.out", f"--error={logs}/job-1.err"),
            *("-n2", "sh", "-c", "exit 3"),
        ]
        assert submits[2][4:] == ["sh", "-c", "echo two | tee x"]
        assert len(submits) == 3

    def test_highest_exit_code_counts(self, pod):
        """And the summary says which job had which."""
        result = pod.start(settings(self.LINES, mode=RunMode.BATCH))
        assert result.code == 3
        assert "job 1 ended with 3: " in result.out

    def test_quiet_has_no_summary(self, pod):
        """logging.quiet."""
        result = pod.start(settings(self.LINES, mode=RunMode.BATCH, logging=QUIET))
        assert result.out == ""

    def test_flags_go_to_flux_batch(self, pod):
        """Size, tasks and option flags shape the batch job."""
        pod.start(settings("true", mode=RunMode.BATCH, submit=Submit(tasks=2, option_flags="-t5")))
        assert pod.call("batch")[2:-1] == ["-N2", "-n2", MAIN, "-t5", "--output=kvs", "--error=kvs"]

    def test_raw_lines_are_one_script(self, pod):
        """containers[].batchRaw: they run as they are, under bash where there is one."""
        result = pod.start(settings("x=a\necho $x\nexit 4", mode=RunMode.BATCH, batch_raw=True))
        assert (result.code, result.out) == (4, "a\n")

    def test_raw_script_with_an_interpreter_is_untouched(self):
        """Its first line says who runs it."""
        text = "#!/bin/zsh\necho\n"
        assert start_script.batch_script(settings(text, mode=RunMode.BATCH, batch_raw=True)) == text

    def test_custom_script_is_the_batch_script(self, pod):
        """commands.script in place of lines."""
        result = pod.start(
            Settings("mc", mode=RunMode.BATCH, hooks=HookScripts(script="#!/bin/sh\nexit 8\n"))
        )
        assert result.code == 8


class TestInteractive:
    """RunMode.INTERACTIVE, or no command at all."""

    @pytest.mark.parametrize("mode", [RunMode.INTERACTIVE, RunMode.PLAIN])
    def test_no_program_runs(self, pod, mode):
        """Flux stays up: -Sbroker.rc2_none."""
        pod.start(Settings("mc", mode=mode), STUB_PLAN="0")
        assert pod.call("broker")[-1] == "-Sbroker.rc2_none"

    def test_restored_queues_are_started(self, pod, wait_for):
        """A dump holds stopped queues, and no program is there to start them."""
        pod.run_directory.mkdir()
        (pod.directory / "dump.tgz").touch()
        process = pod.popen(
            Settings("mc"), STUB_PLAN="wait", MINICLUSTER_RESTORE=str(pod.directory / "dump.tgz")
        )
        wait_for(lambda: ["flux", "queue", "start", "--all"] in pod.calls())
        wait_for((pod.directory / "calls.waiting").exists)
        process.terminate()
        process.communicate(timeout=20)
        assert f"-Scontent.restore={pod.directory}/dump.tgz" in pod.call("broker")


class TestStandardInput:
    """Submit.passes_input: on a machine of one's own the command reads what the user gives."""

    def test_the_command_gets_it(self, pod):
        """`flux run` passes it on, and shows the output."""
        pod.start(settings("cat", submit=Submit(passes_input=True, option_flags="-c 2")))
        assert pod.call("run")[2:] == ["-n1", MAIN, "-c", "2", "cat"]

    def test_labels_stay(self, pod):
        """`flux run` has no id before them."""
        pod.start(settings("cat", submit=Submit(passes_input=True, label_output=True)))
        assert pod.call("run")[2:] == ["-n1", MAIN, "--label-io", "cat"]

    @pytest.mark.parametrize(
        ("line", "flags", "empty"),
        [
            pytest.param("cat", "--cc=1-2", ["--input=/dev/null"], id="several jobs"),
            pytest.param("--bcc=1-2 cat", "", ["--input=/dev/null"], id="several jobs of the line"),
            pytest.param("cat", "--input=x", [], id="another input"),
            pytest.param("cat", "-o input.stdin.type=service", [], id="a setting"),
        ],
    )
    def test_options_that_only_submit_has_leave_it_empty(self, pod, line, flags, empty):
        """A program that reads does not wait for ever."""
        pod.start(settings(line, submit=Submit(passes_input=True, option_flags=flags)))
        words = pod.call("submit")
        assert "--watch" in words
        assert [word for word in words if word == "--input=/dev/null"] == empty
