"""The log: a line as people and programs read it, and that no secret stands in it."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import io
import json
import logging
import re
import warnings
from typing import TYPE_CHECKING, Any

import pytest
from aiohttp import web
from kopf._cogs.clients.errors import APIClientError

from broker_config import curve
from minicluster.kube_client import logs
from minicluster.kube_client.access import Access
from minicluster.kube_client.client import ApiClient
from minicluster.kube_client.errors import ApiError
from minicluster.kube_client.objects import Name

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

    from broker_config.curve import KeyPair
    from minicluster.kube_client.logs import LogFormat, LogLevel

HELLO = Name("default", "hello")
KOPF = {"k8s_ref": {"apiVersion": "v1", "kind": "MiniCluster", "namespace": "default", "name": "hello"}}
log = logging.getLogger("minicluster.somewhere")


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    """Leave the process's logging as it was."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    names = ("kopf", "asyncio", "aiohttp.server", "aiohttp.access")
    levels = {name: logging.getLogger(name).level for name in names}
    yield
    logging.captureWarnings(False)
    root.handlers[:] = handlers
    root.setLevel(level)
    for name, before in levels.items():
        logging.getLogger(name).setLevel(before)
        logging.getLogger(name).disabled = False


def begin(log_format: LogFormat, level: LogLevel = "info") -> io.StringIO:
    """Set the log up, and return where it goes."""
    stream = io.StringIO()
    logs.setup(log_format, level, stream)
    return stream


def lines(stream: io.StringIO) -> list[dict[str, Any]]:
    """Return a log's lines, each an object."""
    return [json.loads(line) for line in stream.getvalue().splitlines()]


class TestJson:
    """A JSON object a line."""

    def test_line(self) -> None:
        """A line has time, level, logger and message, and no more."""
        stream = begin("json")
        log.warning("%s is slow", "etcd")
        (line,) = lines(stream)
        time = line.pop("time")
        assert line == {"level": "warning", "logger": log.name, "message": "etcd is slow"}
        assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}\+00:00", time)

    def test_object(self) -> None:
        """A line that concerns a MiniCluster names it."""
        stream = begin("json")
        logs.for_object(log, HELLO, "some-uid").info("applied")
        assert lines(stream)[0]["object"] == {
            "kind": "MiniCluster",
            "namespace": "default",
            "name": "hello",
            "uid": "some-uid",
        }

    def test_object_of_kopf(self) -> None:
        """kopf's lines name theirs in the same way."""
        stream = begin("json")
        logging.getLogger("kopf.objects").warning("hm", extra=KOPF)
        assert lines(stream)[0]["object"] == {
            "kind": "MiniCluster",
            "namespace": "default",
            "name": "hello",
        }

    def test_fields(self) -> None:
        """A line has the further fields that it may have, beside the object's."""
        stream = begin("json")
        logs.for_object(log, HELLO).info("applied", extra={"step": "apply", "seconds": 0.5})
        line = lines(stream)[0]
        assert (line["step"], line["seconds"], line["object"]["name"]) == ("apply", 0.5, "hello")

    def test_other_fields(self) -> None:
        """A field that nobody thought of is left out."""
        stream = begin("json")
        log.info("applied", extra={"body": {"data": "c2VjcmV0"}, "settings": object()})
        assert set(lines(stream)[0]) == {"time", "level", "logger", "message"}

    def test_error(self) -> None:
        """A traceback is a field of its line."""
        stream = begin("json")
        log.error("the apply failed", exc_info=ApiError(500, "InternalError", "etcd is away"))
        (line,) = lines(stream)
        assert line["error"].endswith("ApiError: 500 InternalError: etcd is away")

    def test_line_ends(self) -> None:
        """A message of several lines is one line of the log."""
        stream = begin("json")
        log.info("one\ntwo")
        assert [line["message"] for line in lines(stream)] == ["one\ntwo"]

    def test_warnings(self) -> None:
        """Python's own warnings are lines as well."""
        stream = begin("json")
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            logging.captureWarnings(True)
            warnings.warn("old", DeprecationWarning, stacklevel=1)
        assert lines(stream)[0]["logger"] == "py.warnings"


class TestText:
    """A line for people."""

    @pytest.mark.parametrize(
        ("extra", "shown"),
        [
            ({}, "all is well"),
            ({"object": {"namespace": "default", "name": "hello"}}, "default/hello: all is well"),
            (KOPF, "default/hello: all is well"),
            ({"step": "apply"}, "all is well step=apply"),
        ],
        ids=["plain", "object", "kopf's object", "field"],
    )
    def test_line(self, extra: dict[str, Any], shown: str) -> None:
        """A line has the time of day, the level, the object and the message."""
        stream = begin("text")
        log.info("all is well", extra=extra)
        assert re.fullmatch(rf"\d\d:\d\d:\d\d INFO    {shown}\n", stream.getvalue())

    def test_object_named_already(self) -> None:
        """A message that names its object is not given the name twice."""
        stream = begin("text")
        logs.for_object(log, HELLO).info("%s: all is well", HELLO)
        assert stream.getvalue().endswith("INFO    default/hello: all is well\n")

    def test_no_false_lines(self) -> None:
        """What is quoted can neither look like a line of its own nor steer the terminal."""
        stream = begin("text")
        log.info("refused: %s", "\x1b[2J\r\n12:00:00 INFO    all is well")
        assert stream.getvalue().endswith("refused: ?[2J?\n    12:00:00 INFO    all is well\n")


@pytest.mark.parametrize("log_format", ["json", "text"])
@pytest.mark.parametrize(
    ("logger", "level", "expected"),
    [
        ("minicluster.x", logging.INFO, {"info", "debug"}),
        ("minicluster.x", logging.DEBUG, {"debug"}),
        ("kopf.objects", logging.INFO, {"debug"}),
        ("kopf.objects", logging.WARNING, {"warning", "info", "debug"}),
        ("asyncio", logging.DEBUG, {"debug"}),
        ("aiohttp.access", logging.INFO, set()),
    ],
)
def test_levels(log_format: LogFormat, logger: str, level: int, expected: set[str]) -> None:
    """kopf speaks of trouble only, but where one looks for a defect; requests for metrics are never told."""
    shown = set()
    chosen: LogLevel
    for chosen in ("error", "warning", "info", "debug"):
        stream = begin(log_format, chosen)
        logging.getLogger(logger).log(level, "hm")
        if stream.getvalue():
            shown.add(chosen)
    assert shown == expected


REFUSED = APIClientError(None, status=404, headers={})
DEFECT = ValueError("hm")


@pytest.mark.parametrize(
    ("logger", "level", "error", "is_shown"),
    [
        pytest.param("kopf._core.reactor.running", "info", REFUSED, False, id="an API server's refusal"),
        pytest.param("kopf._core.reactor.running", "debug", REFUSED, True, id="to look for a defect"),
        pytest.param("kopf._core.reactor.running", "info", DEFECT, True, id="a defect"),
        pytest.param("minicluster.x", "info", REFUSED, True, id="of ours"),
    ],
)
def test_tracebacks(logger: str, level: LogLevel, error: Exception, is_shown: bool) -> None:
    """Each of kopf's tasks logs the refusal that ends them all, as when the CRD is deleted."""
    stream = begin("text", level)
    logging.getLogger(logger).error("the task has failed: %s", 404, exc_info=error)
    first, *rest = stream.getvalue().splitlines()
    assert ("the task has failed: 404" in first, bool(rest)) == (True, is_shown)


KEYS = curve.generate()
CERTIFICATE = curve.render("hello", KEYS)
DATA = base64.b64encode(CERTIFICATE.encode()).decode()
TOKEN = "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJrdWJlcm5ldGVzIn0.c2lnbmF0dXJl"


@pytest.mark.parametrize(
    ("text", "secret"),
    [
        (CERTIFICATE, KEYS.secret),
        (repr(CERTIFICATE), KEYS.secret),
        (json.dumps({"curve.cert": CERTIFICATE}), KEYS.secret),
        (f"data: {DATA}", DATA[:80]),
        (f"data[curve.cert]: Invalid value: {DATA[:200]}", DATA[:80]),
        (f"Authorization: Bearer {TOKEN}", TOKEN),
        ("authorization: bearer abc.def", "abc.def"),
        (f"token={TOKEN}", TOKEN),
        ("-----BEGIN EC PRIVATE KEY-----\nMHcCAQEE\n-----END EC PRIVATE KEY-----", "MHcCAQEE"),
        ("-----BEGIN PRIVATE KEY-----\nMHcCAQEE", "MHcCAQEE"),
        ("POST /login/link?token=mcl_" + "a1B2" * 12, "a1B2"),
        ("cannot connect: postgresql://rest:hunter2@db.example/rest", "hunter2"),
    ],
    ids=[
        "certificate",
        "quoted",
        "JSON",
        "base64",
        "base64, cut off",
        "bearer",
        "lower case",
        "token",
        "PEM",
        "PEM, cut off",
        "a link that logs in",
        "a database's password",
    ],
)
def test_secret_is_struck_out(text: str, secret: str) -> None:
    """What looks like a secret does not get into a line."""
    assert secret in text
    assert secret not in logs.strike_out(text)
    assert logs.STRUCK_OUT in logs.strike_out(text)


@pytest.mark.parametrize(
    "text",
    [
        "image: ghcr.io/flux@sha256:" + "0123456789abcdef" * 4,
        "checksum " + "0123456789abcdef" * 8,
        'pods "mc-0-x7k2p" is forbidden: exceeded quota: compute-resources, requested: pods=1',
        "/var/lib/kubelet/pods/8c8a2f4e-6b0f-4f3a-9d53-0f6f2a1c7b11/volumes/kubernetes.io~secret/curve/file",
        "cannot reach https://10.96.0.1:443/apis/flux-framework.org/v1alpha2/miniclusters?watch=true&limit=500",
    ],
    ids=["image digest", "sha512", "quota", "path", "address"],
)
def test_nothing_else_is_struck_out(text: str) -> None:
    """What people need to read stays."""
    assert logs.strike_out(text) == text


@contextlib.asynccontextmanager
async def nasty_server() -> AsyncIterator[int]:
    """Serve as an API server whose webhook quotes all that it refuses."""

    async def refuse(request: web.Request) -> web.Response:
        sent = await request.text()
        found = json.loads(sent)["stringData"]["curve.cert"]
        encoded = base64.b64encode(found.encode()).decode()
        message = f'admission webhook "w" denied the request: {found} data: {encoded} {sent}'
        status = {"kind": "Status", "reason": "Forbidden", "message": message}
        return web.json_response(status, status=403)

    app = web.Application()
    app.router.add_route("*", "/{anything:.*}", refuse)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    try:
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()


def kubeconfig(folder: Path, port: int) -> Access:
    """Write the way to a server that asks for a token."""
    content = {
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": f"http://127.0.0.1:{port}"}}],
        "users": [{"name": "u", "user": {"token": TOKEN}}],
    }
    file = folder / "kubeconfig"
    file.write_text(json.dumps(content))
    return Access(str(file))


async def fail_to_create(folder: Path, keys: KeyPair) -> None:
    """Have the creation of a Secret refused, and log it in every way."""
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"namespace": "default", "name": "hello"},
        "stringData": {"curve.cert": curve.render("hello", keys)},
    }
    asyncio.get_running_loop().set_debug(True)
    async with nasty_server() as port, ApiClient(kubeconfig(folder, port)) as client:
        try:
            await client.create(secret)
        except ApiError as error:
            logs.for_object(log, HELLO).exception("the apply failed: %s", error, extra={"reason": error})
            log.info(error)
            logging.getLogger("kopf.objects").warning("hm: %r %r", error, keys, extra=KOPF)
            logging.getLogger("kopf.objects").debug("arguments: %s", error.args)


@pytest.mark.parametrize("log_format", ["json", "text"])
def test_no_secret_in_a_log(
    log_format: LogFormat, tmp_path: Path, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    """Whatever the server quotes of a Secret that it refuses: neither key nor token stands in the log."""
    keys = curve.generate()
    stream = begin(log_format, "debug")
    asyncio.run(fail_to_create(tmp_path, keys))
    logged = stream.getvalue() + "".join(capfd.readouterr())
    encoded = base64.b64encode(curve.render("hello", keys).encode()).decode()
    parts = [encoded[begin : begin + 24] for begin in range(0, len(encoded) - 24, 4)]
    assert logged.count("admission webhook") >= 4
    assert [secret for secret in (keys.secret, TOKEN, *parts) if secret in logged] == []
