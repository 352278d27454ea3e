"""A pod of its own for the start script: a flux that only records and runs, directories, environment."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import pytest

from broker_config import broker_toml, instance_resources, start_script
from broker_config.settings import BrokerSettings, FluxView
from minicluster import flux_zips

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

# FLUX_EXEC_PATH in it: that is how the start script knows flux-core without running it.
_FLUX = r"""#!{python} -SE
# FLUX_EXEC_PATH
import os, sys, time
calls, plan = os.environ["STUB_CALLS"], os.environ.get("STUB_PLAN", "").split()
verb, args = sys.argv[1], sys.argv[2:]

def note(*words):
    with open(calls, "ab") as file:
        file.write(b"\0".join(os.fsencode(word) for word in words) + b"\0\n\0")

def split(args):
    for index, word in enumerate(args):
        if word == "--":
            return args[:index], args[index + 1:]
        if not word.startswith("-"):
            return args[:index], args[index:]
    return args, []

# What takes longer to import than all else here takes is imported by the few calls that use it.
def run(words, **more):
    import subprocess
    try:
        code = subprocess.run(words, **more).returncode
    except FileNotFoundError:
        return 127
    return code if code >= 0 else 128 - code

def turn(name):
    path = calls + "." + name
    count = int(open(path).read()) if os.path.exists(path) else 0
    open(path, "w").write(str(count + 1))
    return count

if verb == "--version":
    if "STUB_VERSION" in os.environ:
        print("commands:    \t%s\nlibflux-core:\t%s" % (2 * (os.environ["STUB_VERSION"],)))
    sys.exit(os.environ.get("STUB_TROUBLE"))
if verb == "python" and "save_restore" in args[1]:
    note("flux", "saving", *args[3:])
    if args[3] == "settle":
        if os.environ.get("STUB_SETTLE") == "block":
            open(calls + ".settling", "w").close()
            while not os.path.exists(calls + ".settled"):
                time.sleep(0.01)
        if os.environ.get("STUB_SETTLE") == "fail":
            sys.exit(1)
        open(os.environ["MINICLUSTER_RUN"] + "/settled", "w").close()
        sys.exit(0)
    if args[3] != "resume":
        os.execv({python!r}, [{python!r}, *args])
    sys.exit(0)
note("flux", *sys.argv[1:])
if verb == "broker":
    import signal
    words = args[2:]
    options, program = split(words)
    step = plan[min(turn("broker"), len(plan) - 1)] if plan else "run"
    if step in ("run", "wait", "dump"):
        open(calls + ".serving", "w").close()
    if step == "run":
        code = run(program)
        os.unlink(calls + ".serving")
        sys.exit(code)
    if step in ("wait", "dump"):
        def end(*_):
            note("broker", "SIGTERM")
            if os.path.exists(calls + ".serving"):
                os.unlink(calls + ".serving")
            if step == "dump":
                dump = next(word for word in options if word.startswith("-Scontent.dump="))
                with open(dump.partition("=")[2], "wb") as file:
                    file.write(open(os.environ["STUB_DUMP"], "rb").read())
            sys.exit(143)
        signal.signal(signal.SIGTERM, end)
        open(calls + ".waiting", "a").write("x")
        while True:
            time.sleep(60)
    if step == "kill":
        local = next(word for word in options if word.startswith("-Slocal-uri=local://"))
        open(local.partition("local://")[2], "w").close()
        os.kill(os.getpid(), signal.SIGKILL)
    sys.exit(int(step))
elif verb in ("submit", "run"):
    options, program = split(args)
    code = run(program, stdout=None if "--watch" in options or verb == "run" else open(os.devnull, "wb"))
    if "--watch" in options or verb == "run":
        sys.exit(code)
    print("f%d" % code)
elif verb == "batch":
    options, program = split(args)
    code = run(["sh", *program], stdout=open(calls + ".batch", "wb"))
    print("f%d" % code)
elif verb == "job" and args[0] == "attach":
    if os.path.exists(calls + ".batch") and "FLUX_BATCH" not in os.environ:
        print(open(calls + ".batch").read(), end="")
    sys.exit(int(args[1].lstrip("f")))
elif verb == "job" and args[0] == "info":
    jobs = os.environ["STUB_JOBS"]
    name = next(name for name in os.listdir(jobs) if name.partition(".")[0] == args[1])
    print(open(jobs + "/" + name).read())
elif verb == "jobs":
    # A job's file is its jobspec; behind its name may stand how it ended.
    for name in sorted(os.listdir(os.environ["STUB_JOBS"]), reverse=True):
        jobid, _, result = name.partition(".")
        print(jobid + ":" + result)
elif verb == "queue" and args[0] == "status":
    # Only a broker that runs answers: one that is about to is waited for.
    end = time.monotonic() + 5
    while "STUB_QUEUE" not in os.environ and not os.path.exists(calls + ".serving"):
        if time.monotonic() > end:
            sys.exit(1)
        time.sleep(0.01)
    sys.exit(int(os.environ.get("STUB_QUEUE", "0")))
elif verb == "resource":
    print("0-2,5")
"""


@dataclass
class Pod:
    """One broker's pod on this machine, with a flux that records how it is called."""

    directory: Path
    environment: dict[str, str] = field(default_factory=dict)

    @property
    def config(self) -> Path:
        return self.directory / "config"

    @property
    def run_directory(self) -> Path:
        return self.directory / "run"

    @property
    def termination(self) -> str:
        return (self.directory / "termination").read_text()

    def write(self, settings: BrokerSettings) -> None:
        """Put what is rendered from the settings where the ConfigMap and the Secret would be."""
        settings = replace(
            settings,
            config_dir=str(self.config),
            curve_path=str(self.run_directory / "curve.cert"),
            logs=str(self.directory / "logs"),
            view=FluxView(disable=True),
        )
        files = {
            "broker.toml": broker_toml.render(settings),
            "R": instance_resources.render(settings),
            "start.sh": start_script.render(settings),
            **start_script.companion_files(settings),
        }
        for name, text in files.items():
            (self.config / name).write_bytes(text.encode(errors="surrogateescape"))

    def popen(self, settings: BrokerSettings, rank: int | str = 0, **more: str) -> subprocess.Popen[str]:
        self.write(settings)
        environment = {
            **os.environ,
            "PATH": f"{self.directory / 'bin'}:{os.environ['PATH']}",
            "STUB_CALLS": str(self.directory / "calls"),
            "STUB_JOBS": str(self.directory / "jobs"),
            "MINICLUSTER_CONFIG": str(self.config),
            "MINICLUSTER_CURVE": str(self.directory / "secret"),
            "MINICLUSTER_RUN": str(self.run_directory),
            "MINICLUSTER_TERMINATION_LOG": str(self.directory / "termination"),
            "JOB_COMPLETION_INDEX": str(rank),
            **self.environment,
            **more,
        }
        return subprocess.Popen(
            [os.environ.get("TEST_SHELL", "sh"), self.config / "start.sh"],
            env=environment,
            cwd=self.directory,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="surrogateescape",
        )

    def start(self, settings: BrokerSettings, rank: int | str = 0, **more: str) -> ScriptResult:
        process = self.popen(settings, rank, **more)
        out, err = process.communicate(timeout=60)
        return ScriptResult(process.returncode, out, err)

    def calls(self) -> list[list[str]]:
        """How flux was called, in order, each call's words."""
        path = self.directory / "calls"
        text = path.read_bytes().decode(errors="surrogateescape") if path.exists() else ""
        return [call.split("\0") for call in text.split("\0\n\0") if call]

    def call(self, *verb: str) -> list[str]:
        """The words of the one call that begins with these."""
        found = [words for words in self.calls() if words[1 : 1 + len(verb)] == list(verb)]
        assert len(found) == 1, self.calls()
        return found[0]

    def recorder(self) -> str:
        """A program that keeps its arguments for `recorded`."""
        path = self.directory / "record"
        path.write_text(f"#!/bin/sh\nprintf '%s\\0' \"$#\" \"$@\" >'{self.directory}/recorded'\n")
        path.chmod(0o755)
        return str(path)

    def recorded(self) -> list[str]:
        text = (self.directory / "recorded").read_bytes().decode(errors="surrogateescape")
        count, *words = text.split("\0")[:-1]
        return words[: int(count)]


@pytest.fixture
def wait_for() -> Callable[[Callable[[], object]], None]:
    """Waits for a condition, with a deadline."""

    def wait(condition: Callable[[], object], seconds: float = 60.0) -> None:
        deadline = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < deadline, "it did not happen in time"
            time.sleep(0.01)

    return wait


@dataclass(frozen=True)
class ScriptResult:
    code: int
    out: str
    err: str


def make_pod(directory: Path) -> Pod:
    for name in ("bin", "config", "jobs"):
        (directory / name).mkdir(parents=True)
    flux = directory / "bin" / "flux"
    flux.write_text(_FLUX.replace("{python!r}", repr(sys.executable)).replace("{python}", sys.executable))
    flux.chmod(0o755)
    (directory / "secret").write_text("a certificate\n")
    (directory / "config" / flux_zips.ZIP).write_bytes(flux_zips.pack())
    return Pod(directory)


@pytest.fixture
def pod(tmp_path: Path) -> Pod:
    return make_pod(tmp_path / "a pod")


@pytest.fixture
def new_pod(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[[], Pod]]:
    """Makes pods, for tests that need one an example."""
    return lambda: make_pod(tmp_path_factory.mktemp("pod"))
