"""The start script, really run: what the broker gets, what must be there before, the hooks."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
from dataclasses import replace

import pytest

from broker_config import start_script
from broker_config.formats import idset, resource_set
from broker_config.settings import BrokerSettings as Settings
from broker_config.settings import (
    BurstCluster,
    BurstingSettings,
    Command,
    FluxView,
    HookScripts,
    LeadBrokerSettings,
    LoggingSettings,
    NodeResources,
    RunMode,
)

PLAIN = Settings("mc", size=2, command=Command("true"))
QUIET = LoggingSettings(quiet=True)


def settings(line="true", **more):
    return Settings("mc", size=2, command=Command(line), **more)


class TestBroker:
    """What the broker is started with."""

    def test_reads_its_configuration_and_runs_in_directories_of_its_own(self, pod):
        """The environment names the directories; the broker gets them as attributes."""
        pod.start(PLAIN)
        words = pod.call("broker")
        run = pod.run_directory
        assert words[2:7] == [
            "-c",
            f"{pod.config}/broker.toml",
            f"-Srundir={run}/flux",
            f"-Sstatedir={run}/state",
            f"-Slocal-uri=local://{run}/local",
        ]

    def test_lead_runs_the_script_again_as_its_program(self, pod):
        """`start.sh main` is the lead's initial program."""
        pod.start(PLAIN)
        assert pod.call("broker")[-3:] == ["sh", f"{pod.config}/start.sh", "main"]

    def test_follower_has_no_program(self, pod):
        """Only the lead runs the command."""
        pod.start(PLAIN, rank=1, STUB_PLAN="0")
        assert "main" not in pod.call("broker")

    @pytest.mark.parametrize(
        ("more", "expected"),
        [
            pytest.param({}, "-Sbroker.quorum=2", id="quorum-is-size"),
            pytest.param({"quorum": 1}, "-Sbroker.quorum=1", id="quorum"),
            pytest.param({"connect_timeout": "7s"}, "-Stbon.connect_timeout=7s", id="connect-timeout"),
            pytest.param({"topology": "kary:2"}, "-Stbon.topo=kary:2", id="topology"),
            pytest.param({"logging": LoggingSettings(zeromq=True)}, "-Stbon.zmqdebug=1", id="zeromq"),
            pytest.param({"logging": LoggingSettings(level=3)}, "-Slog-stderr-level=3", id="log-level"),
            pytest.param({"logging": QUIET}, "-Slog-stderr-level=0", id="quiet"),
            pytest.param({}, "-Shostname=mc-0", id="hostname"),
        ],
    )
    def test_settings_become_attributes(self, pod, more, expected):
        """Each setting is one -S option."""
        pod.start(settings(**more))
        assert expected in pod.call("broker")

    @pytest.mark.parametrize(
        ("more", "absent"),
        [
            pytest.param({"connect_timeout": ""}, "connect_timeout", id="connect-timeout"),
            pytest.param({"disable_socket": True}, "local-uri", id="socket"),
        ],
    )
    def test_settings_that_leave_an_attribute_out(self, pod, more, absent):
        """An empty connect timeout, a disabled socket: Flux's own default stays."""
        pod.start(settings(**more))
        assert absent not in " ".join(pod.call("broker"))

    def test_another_host_name_can_be_given(self, pod):
        """MINICLUSTER_HOST is what the broker is called in broker.toml."""
        pod.start(PLAIN, MINICLUSTER_HOST="node-7")
        assert "-Shostname=node-7" in pod.call("broker")

    def test_wrap_comes_before_the_broker(self, pod):
        """`flux.wrap` is a comma-separated command line around the broker."""
        result = pod.start(settings(wrap="env,A=b c"))
        assert result.code == 0
        assert pod.call("broker")

    def test_reads_the_standard_input_that_it_was_given(self, pod):
        """A background process would read /dev/null."""
        pod.write(settings("cat", mode=RunMode.LAUNCHER))
        process = pod.popen(settings("readlink /proc/self/fd/0", mode=RunMode.LAUNCHER))
        assert process.communicate(timeout=30)[0].strip() == "/dev/null"

    def test_lead_of_another_cluster_makes_index_0_a_follower(self, pod):
        """With flux.bursting.leadBroker the lead is elsewhere: here everyone follows."""
        lead = BurstingSettings(lead=LeadBrokerSettings("10.0.0.7", "far", 2))
        pod.start(settings(bursting=lead), STUB_PLAN="0")
        assert "main" not in pod.call("broker")


class TestCertificate:
    """The CURVE certificate, which Flux reads only where nobody else can."""

    def test_is_copied_for_its_owner_only(self, pod):
        """A mounted Secret is readable by its group: the copy has mode 0400."""
        (pod.directory / "secret").chmod(0o644)
        pod.start(PLAIN)
        copy = pod.run_directory / "curve.cert"
        assert (copy.read_text(), stat.S_IMODE(copy.stat().st_mode)) == ("a certificate\n", 0o400)

    def test_is_used_as_it_is_where_it_is_private(self, pod):
        """Source and destination are one file in a local run."""
        pod.run_directory.mkdir()
        (pod.run_directory / "curve.cert").touch(0o400)
        result = pod.start(PLAIN, MINICLUSTER_CURVE=str(pod.run_directory / "curve.cert"))
        assert result.code == 0

    def test_readable_by_others_is_refused_as_it_is(self, pod):
        """The message says what to do."""
        pod.run_directory.mkdir()
        path = pod.run_directory / "curve.cert"
        path.touch()
        path.chmod(0o640)
        result = pod.start(PLAIN, MINICLUSTER_CURVE=str(path))
        assert result.code == 1
        assert (
            f"can be read by others (-rw-r-----): it holds the secret key, so: chmod 400 {path}" in result.err
        )

    def test_missing_is_named(self, pod):
        """The message names the file and what brings it."""
        (pod.directory / "secret").unlink()
        result = pod.start(PLAIN)
        assert (
            f"cannot read the CURVE certificate {pod.directory}/secret: the MiniCluster's Secret"
            in result.err
        )


class TestPreparation:
    """What must be there before a broker can start, each with what to do about it."""

    def test_missing_configuration(self, pod):
        """The ConfigMap is not mounted."""
        pod.write(PLAIN)
        text = (pod.config / "start.sh").read_text()
        (pod.config / "R").unlink()
        script = pod.directory / "moved.sh"
        script.write_text(text)
        done = subprocess.run(
            ["sh", script],
            env={
                **os.environ,
                "PATH": f"{pod.directory}/bin:{os.environ['PATH']}",
                "STUB_CALLS": "x",
                "JOB_COMPLETION_INDEX": "0",
                "MINICLUSTER_CONFIG": str(pod.config),
            },
            cwd=pod.directory,
            capture_output=True,
            text=True,
            check=False,
        )
        assert f"cannot read {pod.config}/R: the MiniCluster's ConfigMap must be mounted" in done.stderr

    def test_index_that_is_none(self, pod):
        """Without the indexed Job's variable no rank is known."""
        result = pod.start(PLAIN, rank="x")
        assert "JOB_COMPLETION_INDEX is 'x'" in result.err

    def test_run_directory_that_cannot_be_made(self, pod):
        """A file stands where the run directory belongs."""
        pod.run_directory.touch()
        result = pod.start(PLAIN)
        assert (
            f"cannot make {pod.run_directory} private to uid {os.getuid()}: mount an emptyDir" in result.err
        )

    def test_state_directory_that_cannot_be_made(self, pod):
        """A file stands where the state directory belongs."""
        (pod.directory / "file").touch()
        result = pod.start(PLAIN, MINICLUSTER_STATE=str(pod.directory / "file" / "state"))
        assert "cannot make the state directory" in result.err

    def test_run_directory_is_private(self, pod):
        """Sockets lie there."""
        pod.start(PLAIN)
        assert stat.S_IMODE(pod.run_directory.stat().st_mode) == 0o700

    def test_no_flux_at_all(self, pod):
        """The message says where flux was looked for."""
        tools = pod.directory / "tools"
        tools.mkdir()
        for name in ("sh", "grep", "mkdir", "chmod", "id"):
            (tools / name).symlink_to(shutil.which(name) or "/bin/false")
        result = pod.start(PLAIN, PATH=str(tools))
        assert f"no flux on PATH ({tools}): use an image with Flux" in result.err

    def test_a_gitops_tool_of_that_name_is_not_run(self, pod):
        """Its help says something else; the broker is never started with it."""
        other = pod.directory / "gitops"
        other.mkdir()
        (other / "flux").write_text("#!/bin/sh\necho flux version 2.3.0\n")
        (other / "flux").chmod(0o755)
        (pod.directory / "bin" / "flux").unlink()
        tools = f"{other}:/usr/bin:/bin"
        result = pod.start(PLAIN, PATH=tools)
        assert f"{other}/flux is not flux-core's flux (another tool has that name)" in result.err

    def test_flux_core_behind_a_gitops_tool_is_found(self, pod):
        """And put first on PATH, so that jobs find it as well."""
        other = pod.directory / "gitops"
        other.mkdir()
        (other / "flux").write_text("#!/bin/sh\necho flux version 2.3.0\n")
        (other / "flux").chmod(0o755)
        result = pod.start(
            settings("command -v flux", mode=RunMode.LAUNCHER),
            PATH=f"{other}:{pod.directory}/bin:/usr/bin:/bin",
        )
        assert result.out.strip() == f"{pod.directory}/bin/flux"


class TestHooks:
    """containers[].commands."""

    ALL = HookScripts(
        *(f"echo {name}" for name in ("init", "pre", "brokerPre", "workerPre", "servicePre", "post"))
    )

    def test_order_on_the_lead(self, pod):
        """init, pre, brokerPre, the command, post."""
        result = pod.start(settings("echo command", hooks=self.ALL))
        assert result.out.split() == ["init", "pre", "brokerPre", "command", "post"]

    def test_order_on_a_follower(self, pod):
        """init, pre, workerPre, post."""
        result = pod.start(settings(hooks=self.ALL), rank=1, STUB_PLAN="0")
        assert result.out.split() == ["init", "pre", "workerPre", "post"]

    def test_exports_reach_the_command(self, pod):
        """A hook runs in the script's own shell, `source` included."""
        (pod.directory / "env.sh").write_text("export FOO='a b'\n")
        result = pod.start(settings("printenv FOO", hooks=HookScripts(pre="source ./env.sh")))
        assert result.out == "a b\n"

    def test_failing_hook_is_reported_and_survived(self, pod):
        """Without logging.strict, as documents expect."""
        result = pod.start(settings("sh -c 'exit 3'", hooks=HookScripts(pre="false")))
        assert result.code == 3
        assert "commands.pre ended with 1; logging.strict would end the start here" in result.err

    def test_failing_hook_ends_a_strict_start(self, pod):
        """With the hook's own code."""
        hooks = HookScripts(pre="sh -c 'exit 4'\necho not here")
        result = pod.start(settings(hooks=hooks, logging=LoggingSettings(strict=True)))
        assert (result.code, result.out, pod.calls()) == (4, "", [])

    def test_strict_start_that_works(self, pod):
        """Strictness is for the hooks, not for what follows them."""
        hooks = HookScripts(pre="export A=1", post="echo $UNSET")
        result = pod.start(settings("sh -c 'exit 7'", hooks=hooks, logging=LoggingSettings(strict=True)))
        assert result.code == 7

    @pytest.mark.parametrize("post", ["exit 9", "false", "echo 'open"], ids=["exit", "fails", "syntax"])
    def test_post_does_not_hide_the_exit_code(self, pod, post):
        """Whatever it does."""
        result = pod.start(settings("sh -c 'exit 7'", hooks=HookScripts(post=post)))
        assert result.code == 7
        assert "commands.post ended with" in result.err

    def test_exit_in_a_hook_is_the_exit_code(self, pod):
        """Of the lead; nothing is started."""
        result = pod.start(settings(hooks=HookScripts(broker_pre="exit 6")))
        assert (result.code, pod.termination, pod.calls()) == (6, "6\n", [])

    def test_quiet_hides_what_hooks_print(self, pod):
        """logging.quiet: only the command's output is left."""
        result = pod.start(settings("echo command", hooks=self.ALL, logging=QUIET))
        assert (result.out, result.err) == ("command\n", "")


class TestTimes:
    """logging.timed, without a program for it."""

    @pytest.mark.parametrize("what", ["fluxstart", "fluxsubmit"])
    def test_are_printed(self, pod, what):
        """Minutes, seconds, hundredths."""
        result = pod.start(settings(logging=LoggingSettings(timed=True)))
        assert f"FLUXTIME {what} wall time 0:0" in result.err


def test_the_view_comes_last_on_path(pod, tmp_path):
    """What the container brings itself is found first; the view's Python path is added."""
    text = start_script.render(Settings("mc", view=FluxView("/mnt/my flux", "/py/path")))
    assert "PATH=$PATH:'/mnt/my flux'/view/bin:'/mnt/my flux'/bin" in text
    assert "export PYTHONPATH=${PYTHONPATH:+$PYTHONPATH:}/py/path" in text


class TestCores:
    """Without a number of cores in the settings, a broker has what its process may use."""

    FOUND = settings(node=NodeResources(cores=None, gpus=1))

    def cores(self, pod, *, allowed=None, **cgroup):
        """What R says after a start; `allowed` CPUs and the cgroup's files as given."""
        root = pod.directory / "cgroup"
        for name, text in cgroup.items():
            path = root / name.replace("__", "/").replace("cpu_", "cpu.")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        before = os.sched_getaffinity(0)
        os.sched_setaffinity(0, allowed or before)
        try:
            assert pod.start(self.FOUND, MINICLUSTER_CGROUP=str(root)).code == 0
        finally:
            os.sched_setaffinity(0, before)
        return resource_set.loads((pod.run_directory / "R").read_text())

    def test_are_those_of_slots_that_give_none(self, pod):
        """Also where these have other GPUs; a slot's own number stays, be it 1."""
        clusters = (BurstCluster("a", 1, 1), BurstCluster("b", 1, None, 2), BurstCluster("c", 1, 9))
        bursts = replace(self.FOUND, bursting=BurstingSettings(clusters=clusters))
        assert pod.start(bursts).code == 0
        found = resource_set.loads((pod.run_directory / "R").read_text())
        count = len(os.sched_getaffinity(0))
        assert [idset.size_of(node.cores) for node in found.nodes] == [count, count, 1, count, 9]
        assert [idset.size_of(node.gpus) for node in found.nodes] == [1, 1, 1, 2, 1]

    def test_are_those_of_its_affinity(self, pod):
        """All of this process's CPUs, on every rank; GPUs stay as they are."""
        found = self.cores(pod)
        count = len(os.sched_getaffinity(0))
        assert [(idset.size_of(node.cores), node.gpus) for node in found.nodes] == [(count, 0b1)] * 2

    def test_follow_a_smaller_affinity(self, pod):
        """One CPU allowed is one core."""
        assert self.cores(pod, allowed={min(os.sched_getaffinity(0))}).counts == (2, 2, 2)

    @pytest.mark.parametrize(
        ("cgroup", "expected"),
        [
            pytest.param({"cpu_max": "150000 100000\n"}, 1, id="v2-one-and-a-half"),
            pytest.param({"cpu_max": "20000 100000\n"}, 1, id="v2-a-fifth"),
            pytest.param({"cpu_max": "max 100000\n"}, None, id="v2-no-quota"),
            pytest.param({"cpu_max": "9900000 100000\n"}, None, id="v2-more-than-there-is"),
            pytest.param(
                {"cpu__cpu_cfs_quota_us": "100000\n", "cpu__cpu_cfs_period_us": "100000\n"}, 1, id="v1"
            ),
            pytest.param(
                {"cpu__cpu_cfs_quota_us": "-1\n", "cpu__cpu_cfs_period_us": "100000\n"},
                None,
                id="v1-no-quota",
            ),
        ],
    )
    def test_are_bounded_by_the_quota(self, pod, cgroup, expected):
        """Whole cores, at least one; never more than the affinity."""
        found = self.cores(pod, **cgroup)
        assert idset.size_of(found.nodes[0].cores) == (expected or len(os.sched_getaffinity(0)))

    def test_brokers_settings_name_where_they_stand(self, pod):
        """broker.toml names the file in the run directory."""
        pod.start(self.FOUND, MINICLUSTER_CGROUP=str(pod.directory))
        assert f'path = "{pod.run_directory}/R"' in (pod.config / "broker.toml").read_text()
