"""The scripts of sidecars and services, really run."""

from __future__ import annotations

import os
import socket
import subprocess

from broker_config import start_script
from broker_config.settings import (
    HookScripts,
    ServiceSettings,
)


class TestService:
    """Sidecars and services."""

    def run(self, pod, settings, **more):
        script = pod.directory / "service.sh"
        script.write_text(start_script.service_script(settings))
        return subprocess.Popen(
            ["sh", script],
            env={**os.environ, "MINICLUSTER_RUN": str(pod.run_directory), **more},
            cwd=pod.directory,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def test_runs_its_hooks_and_its_command(self, pod):
        """init, servicePre, the command, post; its exit code is the command's."""
        hooks = HookScripts(init="echo init", service_pre="export A=pre", post="echo post")
        wanted = ServiceSettings("echo $A $B; exit 3", hooks, environment={"B": "b  c"}, wait_socket=False)
        process = self.run(pod, wanted)
        assert process.communicate(timeout=20)[0].split() == ["init", "pre", "b", "c", "post"]
        assert process.returncode == 3

    def test_waits_for_the_brokers_socket(self, pod):
        """And tells the command where it is."""
        process = self.run(pod, ServiceSettings("echo $FLUX_URI"))
        pod.run_directory.mkdir()
        with socket.socket(socket.AF_UNIX) as broker:
            os.chdir(pod.run_directory)
            broker.bind("local")
            assert process.communicate(timeout=20)[0] == f"local://{pod.run_directory}/local\n"

    def test_sigterm_reaches_the_command(self, pod):
        """Post runs after it."""
        line = "trap 'echo stopped; exit 5' TERM; echo up; while :; do sleep 0.05; done"
        process = self.run(pod, ServiceSettings(line, HookScripts(post="echo post"), wait_socket=False))
        assert process.stdout
        process.stdout.readline()
        process.terminate()
        assert process.communicate(timeout=20)[0].split() == ["stopped", "post"]
        assert process.returncode == 5

    def test_script_replaces_the_command(self, pod):
        """commands.script."""
        process = self.run(pod, ServiceSettings(hooks=HookScripts(script="echo script"), wait_socket=False))
        assert process.communicate(timeout=20)[0] == "script\n"

    def test_command_that_ended_well_beside_a_broker_is_over(self, pod):
        """Its container stays, since Kubernetes would start it again; SIGTERM ends it with 0."""
        process = self.run(
            pod, ServiceSettings("echo done", HookScripts(post="echo post"), wait_socket=False, stays=True)
        )
        assert process.stderr
        assert "its container stays until the pod ends" in process.stderr.readline()
        process.terminate()
        assert (process.communicate(timeout=20)[0].split(), process.returncode) == (["done", "post"], 0)

    def test_command_that_failed_beside_a_broker_is_started_again(self, pod):
        """By Kubernetes, so its container ends."""
        process = self.run(pod, ServiceSettings("exit 3", wait_socket=False, stays=True))
        process.communicate(timeout=20)
        assert process.returncode == 3
