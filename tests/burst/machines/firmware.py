"""The first process of a machine that is none: `python -m tests.burst.machines.firmware FOLDER IMAGE`.

It is started in namespaces of its own. It mounts a root with the files of IMAGE, serves the metadata of
FOLDER/metadata.json as Compute Engine does, and for each line of its standard input it boots: it runs the
startup script as the guest agent does, whose output is FOLDER/console. It ends, with all that runs on the
machine, when the machine is switched off, or its standard input ends.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.devcluster.images import PATH

if TYPE_CHECKING:
    from collections.abc import Mapping

METADATA = "169.254.169.254"
RUNNER = "google_metadata_script_runner[1]: startup-script: "
POLL_INTERVAL = 0.05
POWER_OFF = "#!/bin/sh\n: >/machine/off\n"
HOSTS = f"127.0.0.1 localhost\n{METADATA} metadata.google.internal\n"


class Metadata(BaseHTTPRequestHandler):
    """Answers as the metadata server of an instance."""

    found: Mapping[str, Any]

    def do_GET(self) -> None:
        """Answer, but to who asks without the header that no form of a browser has."""
        begin = "/computeMetadata/v1/instance/"
        key = self.path.removeprefix(begin)
        name, _, attribute = key.partition("/")
        value = self.found["name"] if key == "name" else None
        if name == "attributes":
            value = self.found["attributes"].get(attribute)
        if self.headers.get("Metadata-Flavor") != "Google":
            self._answer(403, "Missing required header: Metadata-Flavor")
        elif not self.path.startswith(begin) or value is None:
            self._answer(404, "not found")
        else:
            self._answer(200, value)

    def _answer(self, code: int, text: str) -> None:
        body = text.encode()
        self.send_response(code)
        self.send_header("Metadata-Flavor", "Google")
        self.send_header("Content-Type", "application/text")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - http.server's name
        """Log nothing."""


def run(*words: str) -> None:
    """Run a program of the system."""
    subprocess.run(words, check=True)


def mounted(folder: Path, image: Path) -> Path:
    """Mount a root of the machine's own over an image; return it."""
    work = folder / "disk"
    work.mkdir(exist_ok=True)
    run("mount", "-t", "tmpfs", "disk", str(work))
    for name in ("upper", "work", "root"):
        (work / name).mkdir()
    layers = f"lowerdir={image},upperdir={work}/upper,workdir={work}/work"
    root = work / "root"
    run("mount", "-t", "overlay", "machine", "-o", layers, str(root))
    for name, words in {
        "proc": ("-t", "proc", "proc"),
        "run": ("-t", "tmpfs", "run"),
        "dev": ("--rbind", "/dev"),
        "sys": ("--rbind", "/sys"),
    }.items():
        (root / name).mkdir(exist_ok=True)
        run("mount", *words, str(root / name))
    (root / "machine").mkdir()
    (root / "machine").chmod(0o777)
    (root / "etc" / "hosts").write_text(HOSTS)
    off = root / "usr" / "sbin" / "poweroff"
    off.write_text(POWER_OFF)
    off.chmod(0o755)
    return root


def serve(found: Mapping[str, Any]) -> None:
    """Serve the metadata, in a thread."""
    run("ip", "link", "set", "lo", "up")
    run("ip", "addr", "add", f"{METADATA}/32", "dev", "lo")
    handler = type("OwnMetadata", (Metadata,), {"found": found})
    server = ThreadingHTTPServer((METADATA, 80), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()


def boot(root: Path, script: str, console: Path) -> None:
    """Run the startup script, in a thread, as the guest agent does."""
    path = root / "run" / "startup-script"
    path.write_text(script)

    def follow() -> None:
        with console.open("a") as written:
            process = subprocess.Popen(
                ["chroot", str(root), "/bin/sh", "/run/startup-script"],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                env={"PATH": PATH},
                cwd="/",
                text=True,
                errors="replace",
            )
            assert process.stdout is not None
            for line in process.stdout:
                written.write(f"{RUNNER}{line}")
                written.flush()
            written.write(f"google_metadata_script_runner[1]: ended with {process.wait()}\n")

    threading.Thread(target=follow, daemon=True).start()


def main(folder: Path, image: Path) -> int:
    """Be a machine until it is switched off."""
    os.umask(0o022)
    found = json.loads((folder / "metadata.json").read_text())
    socket.sethostname(found["name"])
    root = mounted(folder, image)
    serve(found)
    print("ready", flush=True)
    off, ended = root / "machine" / "off", threading.Event()

    def read() -> None:
        for _ in sys.stdin:
            boot(root, found["attributes"]["startup-script"], folder / "console")
        ended.set()

    threading.Thread(target=read, daemon=True).start()
    while not off.exists():
        if ended.wait(POLL_INTERVAL):
            return 1
    return 0


if __name__ == "__main__":
    code = main(Path(sys.argv[1]), Path(sys.argv[2]))
    os._exit(code)  # the kernel ends the others with it
