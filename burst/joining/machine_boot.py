"""What a machine of a burst runs at every boot, as root: `python3 machine_boot.py`.

It reads its task from the metadata server of Compute Engine, makes the user of the lead, and gets the
certificate from the lead's own API: once, for its token, from nobody but who has the certificate of TLS whose
fingerprint the task names. Then it runs a follower's start script as that user, and switches the machine off
once that ends for good, or its time is over.

It needs Python 3.8, sh and Flux. What it writes is on the serial console, and has no secrets.
"""

from __future__ import annotations

import base64
import contextlib
import ctypes
import grp
import hashlib
import hmac
import http.client
import json
import os
import pwd
import secrets
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any, NoReturn

TASK, FILES, ZIPS, TOKENS = (f"minicluster-{each}" for each in ("task", "files", "zips", "tokens"))
"""The keys of the metadata: the task and both kinds of files as JSON, the tokens one a line."""
NUMBER = "minicluster-number"
"""The key of a machine's number, where it is not that of its name."""
CERTIFICATE_PATH = "/v1/machine-certificate"
"""Where the lead's API gives the certificate."""
METADATA_HOSTS = ("metadata.google.internal", "169.254.169.254")
METADATA_TIMEOUT = 120.0
"""Seconds in which the metadata server has to answer: networks come up while machines boot."""
REQUEST_TIMEOUT = 10.0
RETRY_DELAY = 3.0
MAX_FAILURES = 4
"""So many times in a row the start script may fail; it starts its broker again by itself."""
STEADY = 60.0
"""Seconds after which a start script that failed had begun well."""
STOP_TIMEOUT = 15.0
"""Seconds between SIGTERM and SIGKILL, once the machine's time is over."""
CONFIG, RUN, STATE = Path("/etc/minicluster"), Path("/run/minicluster"), Path("/var/lib/minicluster")
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
_SET_CHILD_SUBREAPER, _SET_NO_NEW_PRIVS = 36, 38
"""Of prctl(2)."""


class MachineBootError(Exception):
    """The machine cannot join, for the reason in the message."""


class BootTask(NamedTuple):
    """What a machine is to do."""

    label: str
    slot: str
    uid: int
    gid: int
    until: float
    """When it is switched off, in seconds since 1970."""
    fence: int
    leave_after: int
    path: list[str]
    lead: Mapping[str, Any]
    """Of the lead's API: `address`, `port`, `name`, `fingerprint`."""


def report(text: str) -> None:
    """Write a line to the serial console."""
    print(f"minicluster[]: {text}", flush=True)


def metadata(key: str) -> str | None:
    """Return a value of the metadata server, None where there is none. Raises MachineBootError."""
    deadline = time.monotonic() + METADATA_TIMEOUT
    while True:
        for host in METADATA_HOSTS:
            try:
                return _read_metadata(host, key)
            except (OSError, http.client.HTTPException) as error:
                problem = f"{host}: {error}"
        if time.monotonic() >= deadline:
            raise MachineBootError(f"no metadata server answers in {METADATA_TIMEOUT:g} s: {problem}")
        time.sleep(0.5)


def _read_metadata(host: str, key: str) -> str | None:
    connection = http.client.HTTPConnection(host, timeout=REQUEST_TIMEOUT)
    with contextlib.closing(connection):
        path = f"/computeMetadata/v1/instance/{key}"
        connection.request("GET", path, headers={"Metadata-Flavor": "Google"})
        answer = connection.getresponse()
        text = answer.read().decode()
        if answer.status == http.client.NOT_FOUND:
            return None
        if answer.status != http.client.OK:
            raise http.client.HTTPException(f"it answers {answer.status}")
        return text


def attribute(key: str) -> str:
    """Return what the burst's order has for its machines. Raises MachineBootError."""
    found = metadata(f"attributes/{key}")
    if found is None:
        raise MachineBootError(f"its metadata has no {key}: it is no machine of a burst")
    return found


def number_of(name: str, label: str, given: str | None) -> int:
    """Return a machine's number in its burst, from its metadata or its name. Raises MachineBootError."""
    begin = f"mcb-{label}-"
    text = given.strip() if given is not None else name[len(begin) :] if name.startswith(begin) else ""
    if not (text.isascii() and text.isdigit()):
        raise MachineBootError(f"it is called {name}: {begin}0 and so on are right, or a number as {NUMBER}")
    return int(text)


def ensure_user(uid: int, gid: int) -> str:
    """Make a user and its group, where the machine has none of these ids; return the user's name."""
    try:
        grp.getgrgid(gid)
    except KeyError:
        _append(Path("/etc/group"), f"minicluster-{gid}:x:{gid}:\n")
    try:
        return pwd.getpwuid(uid).pw_name
    except KeyError:
        name, home = f"minicluster-{uid}", STATE / "home"
    _append(Path("/etc/passwd"), f"{name}:x:{uid}:{gid}::{home}:/bin/sh\n")
    home.mkdir(parents=True, exist_ok=True)
    os.chown(home, uid, gid)
    return name


def _append(path: Path, line: str) -> None:
    with path.open("a+", encoding="utf-8") as file:
        file.seek(0)
        text = file.read()
        file.write(line if text.endswith("\n") or not text else f"\n{line}")


def write_files(texts: Mapping[str, str], zips: Mapping[str, str], directory: Path = CONFIG) -> None:
    """Write what a follower reads, for everybody to read and root alone to change. Raises OSError."""
    directory.mkdir(parents=True, exist_ok=True)
    directory.chmod(0o755)
    files = {name: text.encode() for name, text in texts.items()}
    files.update({name: base64.b64decode(text) for name, text in zips.items()})
    for name, data in files.items():
        _write(directory / name, data, 0o555 if name.endswith(".sh") else 0o444)


def _write(path: Path, data: bytes, mode: int, owner: tuple[int, int] = (0, 0)) -> None:
    """Write a file as a whole; it never has a wider mode, or another owner, with its content."""
    fresh = path.with_name(f"{path.name}.new")
    descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        os.fchown(file.fileno(), *owner)
        os.fchmod(file.fileno(), mode)
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(path)


def certificate(task: BootTask, token: str, path: Path) -> None:
    """Get the certificate, unless an earlier boot has, and let the lead's user alone read it.

    Raises MachineBootError where it is refused, or the lead does not answer before the token's end.
    """
    if path.exists():
        return
    nonce, deadline, problem = secrets.token_hex(32), _end_of(token), ""
    while True:
        try:
            text = request_certificate(task.lead, token, nonce)
            break
        except (OSError, http.client.HTTPException) as error:
            words = str(error) or type(error).__name__
        if words != problem:
            report(f"the lead's API does not give the certificate yet: {words}")
        problem = words
        if time.time() >= deadline:
            raise MachineBootError(f"the lead's API did not give the certificate in time: {words}")
        time.sleep(RETRY_DELAY)
    path.parent.mkdir(parents=True, exist_ok=True)
    _write(path, text.encode(), 0o400, (task.uid, task.gid))


def _end_of(token: str) -> float:
    try:
        return float(token.split(".")[2])
    except (IndexError, ValueError):
        raise MachineBootError("its metadata has no token for it") from None


def request_certificate(lead: Mapping[str, Any], token: str, nonce: str) -> str:
    """Return the certificate that the lead's API gives for a token; the same nonce may ask again.

    Raises MachineBootError for what will not change; OSError and HTTPException otherwise.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE  # its fingerprint is known instead
    where = f"{lead['address']}:{lead['port']}"
    plain = socket.create_connection((lead["address"], lead["port"]), REQUEST_TIMEOUT)
    with plain, context.wrap_socket(plain, server_hostname=lead["name"]) as sock:
        found = hashlib.sha256(sock.getpeercert(binary_form=True) or b"").hexdigest()
        if not hmac.compare_digest(found, lead["fingerprint"]):
            raise MachineBootError(
                f"{where} shows a certificate with the fingerprint {found}, not {lead['fingerprint']}: it is"
                " not the lead's API, and gets no token"
            )
        connection = http.client.HTTPConnection(lead["name"])
        connection.sock = sock
        body = json.dumps({"token": token, "nonce": nonce})
        connection.request("POST", CERTIFICATE_PATH, body, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        text = answer.read(1 << 16).decode(errors="replace")
    if answer.status == http.client.OK:
        return text
    why = _error_of(text) or text[:300].strip() or "nothing more"
    words = f"the lead's API at {where} answers {answer.status}: {why}"
    if answer.status in (http.client.TOO_MANY_REQUESTS, http.client.SERVICE_UNAVAILABLE):
        raise http.client.HTTPException(words)
    raise MachineBootError(words)


def _error_of(text: str) -> str:
    """Return the words of an error in JSON; empty if it has none."""
    try:
        return str(json.loads(text)["error"])
    except (ValueError, LookupError, TypeError):
        return ""


def environment(task: BootTask, number: int, name: str, curve: Path) -> dict[str, str]:
    """Return the environment of the start script."""
    return {
        "PATH": ":".join([*task.path, PATH]),
        "HOME": pwd.getpwuid(task.uid).pw_dir,
        "USER": name,
        "LOGNAME": name,
        "LANG": os.environ.get("LANG", "C.UTF-8"),
        "SHLVL": "1",  # else bash takes Flux's socket for a network's, and runs ~/.bashrc (bash(1))
        "JOB_COMPLETION_INDEX": str(number),
        "MINICLUSTER_HOST": f"{task.slot}-{number}",
        "MINICLUSTER_CONFIG": str(CONFIG),
        "MINICLUSTER_RUN": f"{RUN}/broker",
        "MINICLUSTER_CURVE": str(curve),
        "MINICLUSTER_TERMINATION_LOG": f"{RUN}/end",
        "MINICLUSTER_FENCE": str(task.fence),
        "MINICLUSTER_LEAVE_AFTER": str(task.leave_after),
    }


def _as_user(uid: int, gid: int) -> Callable[[], None]:
    """Return what a child does before the start script: it gives up root, and gets its jobs' orphans."""
    prctl = ctypes.CDLL(None).prctl

    def change() -> None:
        prctl(_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        prctl(_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
        os.setgroups([gid])  # not those of a user of the image, such as docker
        os.setgid(gid)
        os.setuid(uid)

    return change


def follow(task: BootTask, number: int, name: str, curve: Path) -> str:
    """Run the start script until it ends for good; return why the machine is to be switched off."""
    shutil.rmtree(RUN, ignore_errors=True)
    RUN.mkdir(mode=0o700)
    os.chown(RUN, task.uid, task.gid)
    variables = environment(task, number, name, curve)
    failures = 0
    while True:
        began = time.monotonic()
        process = subprocess.Popen(
            ["/bin/sh", f"{CONFIG}/start.sh"],
            stdin=subprocess.DEVNULL,
            cwd=variables["HOME"] if Path(variables["HOME"]).is_dir() else "/",
            env=variables,
            start_new_session=True,
            preexec_fn=_as_user(task.uid, task.gid),  # noqa: PLW1509 - this process has one thread
        )
        with _forwarded(process):
            code = _wait(process, task.until)
        if code is None:
            return "its time is over"
        if code == 0:
            return "its broker has left for good"
        if refusal := refusal_of(RUN / "end"):
            return refusal
        failures = 1 if time.monotonic() - began > STEADY else failures + 1
        if failures >= MAX_FAILURES:
            return f"its broker's start script has failed {failures} times in a row, at last with {code}"
        if not end_processes(task.uid):
            return f"its broker's start script ended with {code}, as root"
        report(f"the start script ended with {code}; it is started again")
        time.sleep(min(RETRY_DELAY * failures, max(task.until - time.time(), 0.0)))


def end_processes(uid: int) -> bool:
    """Kill all processes of a user, as no broker must be left beside a new one; return False for root."""
    if uid == 0:
        return False
    child = os.fork()
    if child == 0:
        with contextlib.suppress(OSError):
            os.setuid(uid)
            os.kill(-1, signal.SIGKILL)  # all that this user may send signals to, this process included
        os._exit(0)
    os.waitpid(child, 0)
    return True


def _wait(process: subprocess.Popen[bytes], until: float) -> int | None:
    """Return the exit code of the start script; None once its time is over, and it has ended."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        return process.wait(max(until - time.time(), 0.0))
    process.terminate()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(STOP_TIMEOUT)
    process.kill()  # which does nothing to one that has ended
    return None


@contextlib.contextmanager
def _forwarded(process: subprocess.Popen[bytes]) -> Any:
    """Let a broker leave in order while the machine is switched off by others."""

    def end(_signum: int, _frame: object) -> NoReturn:
        process.terminate()
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(STOP_TIMEOUT)
        raise MachineBootError("the machine is being switched off")

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def refusal_of(path: Path) -> str:
    """Return why a broker's start script gave up; empty if it did not."""
    return _error_of(path.read_text(encoding="utf-8", errors="replace")) if path.exists() else ""


def run() -> str:
    """Do all of it; return why the machine is to be switched off. Raises MachineBootError, OSError."""
    task = BootTask(**json.loads(attribute(TASK)))
    number = number_of(metadata("name") or "", task.label, metadata(f"attributes/{NUMBER}"))
    report(f"machine {number} of burst {task.label}: it joins as {task.slot}-{number}")
    tokens = attribute(TOKENS).split()
    if number >= len(tokens):
        raise MachineBootError(f"its number is {number}, and its burst has {len(tokens)} machines")
    name = ensure_user(task.uid, task.gid)
    write_files(json.loads(attribute(FILES)), json.loads(attribute(ZIPS)))
    curve = STATE / "curve.cert"
    certificate(task, tokens[number], curve)
    report("it has the certificate")
    return follow(task, number, name, curve)


def power_off() -> None:
    """Switch the machine off."""
    for command in (["poweroff"], ["shutdown", "-h", "now"], ["systemctl", "poweroff"]):
        if shutil.which(command[0]) and subprocess.call(command) == 0:
            return
    report("the machine cannot be switched off: none of poweroff, shutdown, systemctl works")


def main() -> int:
    """Run what a machine runs at its boot; return the exit code."""
    os.umask(0o022)
    try:
        reason = run()
    except (MachineBootError, OSError, ValueError, TypeError, http.client.HTTPException) as error:
        reason = str(error) if isinstance(error, MachineBootError) else f"{type(error).__name__}: {error}"
    report(f"{reason}: the machine is switched off")
    power_off()
    return 0


if __name__ == "__main__":
    sys.exit(main())
