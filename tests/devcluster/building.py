"""Building programs with Go, once: into a cache outside the repository, by what they are made from.

A build is keyed by the sources, the way they are built and the Go version; it appears in the cache as a whole
or not at all, and two who want it at once wait for one.
"""

import contextlib
import fcntl
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from tests.devcluster.errors import MissingProgramsError

# GOFLAGS and GOWORK of the caller must not change what the key stands for.
SETTINGS = {"CGO_ENABLED": "0", "GOWORK": "off", "GOFLAGS": "-mod=readonly -buildvcs=false -trimpath"}
LINKING = "-s -w"
STAMP = "k8s.io/component-base/version"  # where Kubernetes programs keep the version that they report
COMMIT = "0" * 40  # 40 digits are asked for
NEWS_SECONDS = 30.0  # between two lines of progress
TAIL_LINES = 12  # of go's own words, quoted


def build(sources: Path, programs: Sequence[str], environ: Mapping[str, str] = os.environ) -> dict[str, Path]:
    """Return a module's programs, built now if they are not in the cache.

    Raises MissingProgramsError where there is no Go, or where it cannot build them (no proxy in reach).
    """
    if not sources.is_dir():
        raise MissingProgramsError(f"there is no {sources} to build it from")
    go = find_go(environ)
    environment = {**environ, **SETTINGS}
    cache = cache_folder(environ)
    target = cache / key(sources, go_version(go, sources, environment))
    if not target.is_dir():
        cache.mkdir(parents=True, exist_ok=True)
        with building_lock(target, sources.name):
            if not target.is_dir():
                compile_into(target, go, sources, programs, environment)
    return {name: target / name for name in programs}


def find_go(environ: Mapping[str, str]) -> str:
    """Return the Go command that is on PATH."""
    go = shutil.which("go", path=environ.get("PATH", ""))
    if go is None:
        raise MissingProgramsError("there is no go on PATH to build them with")
    return go


def required(sources: Path, module_path: str, environ: Mapping[str, str] = os.environ) -> Path:
    """Return the folder of a module that another one requires, downloaded now if it is not here."""
    argv = [find_go(environ), "mod", "download", "-json", module_path]
    asked = subprocess.run(argv, cwd=sources, env={**environ, **SETTINGS}, capture_output=True, check=False)
    if asked.returncode:
        raise MissingProgramsError(f"`{' '.join(argv)}` failed: {output_tail(asked.stdout + asked.stderr)}")
    return Path(json.loads(asked.stdout)["Dir"])


def cache_folder(environ: Mapping[str, str]) -> Path:
    """Name the folder that holds all builds."""
    home = environ.get("XDG_CACHE_HOME") or Path(environ.get("HOME") or Path.home()) / ".cache"
    return Path(home) / "minicluster" / "programs"


def key(sources: Path, version: str) -> str:
    """Name a build by everything that goes into it."""
    digest = hashlib.sha256(repr((version, SETTINGS, linking(sources))).encode())
    for file in sorted(path for path in sources.rglob("*") if path.is_file()):
        content = file.read_bytes()
        digest.update(f"{file.relative_to(sources)} {len(content)}\n".encode() + content)
    return f"{sources.name}-{digest.hexdigest()[:16]}"


def go_version(go: str, sources: Path, environment: Mapping[str, str]) -> str:
    """Ask Go which version builds this module: its go.mod may choose a newer one than is installed."""
    argv = [go, "env", "GOVERSION"]
    with tempfile.TemporaryFile() as answer, tempfile.TemporaryFile() as errors:
        with subprocess.Popen(
            argv, cwd=sources, env=environment, stdin=subprocess.DEVNULL, stdout=answer, stderr=errors
        ) as process:
            while not ended(process):
                report(f"still waiting for go, which may be loading the version that {sources.name} needs")
        answer.seek(0)
        errors.seek(0)
        if process.returncode:
            raise MissingProgramsError(f"`go env GOVERSION` failed: {output_tail(errors.read())}")
        return answer.read().decode().strip()


def linking(sources: Path) -> str:
    """Return the linker's flags: programs of Kubernetes do not work without a version stamped into them."""
    match = re.search(
        r"^(?:require|\t) ?k8s\.io/kubernetes v((\d+)\.(\d+)\.\d+)", module(sources), re.MULTILINE
    )
    if match is None:
        return LINKING
    stamps = {"gitVersion": f"v{match[1]}", "gitMajor": match[2], "gitMinor": match[3], "gitCommit": COMMIT}
    stamps["gitTreeState"] = "clean"
    return " ".join([LINKING, *(f"-X {STAMP}.{name}={value}" for name, value in stamps.items())])


def module(sources: Path) -> str:
    """Read the go.mod."""
    return (sources / "go.mod").read_text()


@contextlib.contextmanager
def building_lock(target: Path, name: str) -> Iterator[None]:
    """Let one process at a time build this."""
    with target.with_name(f"{target.name}.lock").open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            report(f"waiting for another process that builds {name}")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def compile_into(
    target: Path, go: str, sources: Path, programs: Sequence[str], environment: Mapping[str, str]
) -> None:
    """Build beside the target, then rename; what an interrupted build left there is removed first.

    A module is one program, which may have several names. Or it has a folder for each of its programs. Or it
    names programs of other modules as its tools, where a main package of ours could not call theirs.
    """
    for leftover in target.parent.glob(f"{target.name}.build-*"):
        shutil.rmtree(leftover, ignore_errors=True)
    folder = Path(tempfile.mkdtemp(prefix=f"{target.name}.build-", dir=target.parent))
    try:
        argv = [go, "build", "-ldflags", linking(sources), "-o", *build_target(sources, folder)]
        run(argv, sources.name, sources, environment)
        for program in programs:
            if not (folder / program).exists():
                (folder / program).symlink_to(sources.name)
        folder.rename(target)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def build_target(sources: Path, folder: Path) -> list[str]:
    """Return what `go build -o` takes: where a module's programs go, and the package."""
    if re.search(r"^tool\b", module(sources), re.MULTILINE):
        return [f"{folder}/", "tool"]
    if any(entry.is_dir() for entry in sources.iterdir()):
        return [f"{folder}/", "./..."]
    return [str(folder / sources.name), "."]


def run(
    argv: Sequence[str], name: str, folder: Path, environment: Mapping[str, str], command: str = "go build"
) -> None:
    """Run a command that builds from a folder, with a low priority, and print that it runs."""
    report(f"building {name} (once; minutes on a machine that never did)")
    began = time.monotonic()
    with tempfile.TemporaryFile() as output:
        with subprocess.Popen(
            argv, cwd=folder, env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output
        ) as process:
            os.setpriority(os.PRIO_PROCESS, process.pid, 10)
            while not ended(process):
                report(f"still building {name}, {time.monotonic() - began:.0f} s")
        output.seek(0)
        if process.returncode:
            raise MissingProgramsError(f"`{command}` of {folder} failed: {output_tail(output.read())}")
    report(f"built {name} in {time.monotonic() - began:.0f} s")


def ended(process: subprocess.Popen[bytes]) -> bool:
    """Wait for a while; return whether the process ended."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(NEWS_SECONDS)
    return process.returncode is not None


def output_tail(output: bytes) -> str:
    """Return the last lines of Go's output."""
    return "\n".join(output.decode(errors="replace").strip().splitlines()[-TAIL_LINES:])


def report(news: str) -> None:
    """Write a line of progress."""
    print(f"test cluster: {news}", file=sys.stderr, flush=True)
