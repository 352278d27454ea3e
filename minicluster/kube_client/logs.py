"""The form of the operator's log: text lines for users, or a JSON object a line for programs.

It must contain no secret. Bodies of requests are never logged, but an API server or a webhook may quote what
it refuses. So everything that looks like a key, a certificate's text or a token is removed from every line.
"""

from __future__ import annotations

import logging
import re
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal, TextIO

from pythonjsonlogger.json import JsonFormatter

from minicluster.plan.constants import KIND

if TYPE_CHECKING:
    from collections.abc import MutableMapping

    from minicluster.kube_client.objects import Name

LogFormat = Literal["text", "json"]
LogLevel = Literal["debug", "info", "warning", "error"]

OBJECT = "object"
OBJECT_FIELDS = ("kind", "namespace", "name", "uid")
FIELDS = ("step", "result", "reason", "status", "attempt", "seconds", "request", "method", "route")
"""The extra fields that a line may have; others are left out, so that nothing gets in by accident."""

STRUCK_OUT = "[struck out]"
_SECRETS = (
    # The secret key of a CURVE certificate, also within a quoted text.
    re.compile(r"(?P<keep>secret-key\s*=\s*\\*[\"'])[^\"'\\]+"),
    re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL),
    re.compile(r"(?P<keep>\bBearer\s+)[\w.~+/=-]+", re.IGNORECASE),
    re.compile(r"\beyJ[\w-]{8,}\.[\w-]+\.[\w-]*"),
    # The tokens of the RESTful API, and a password in the URL of a database.
    re.compile(r"\bmc[a-z]_[0-9A-Za-z]{20,}"),
    re.compile(r"(?P<keep>://[^\s:/@]*:)[^\s/@]+(?=@)"),
    # A Secret's data: base64 of some length; a digest in hexadecimal is none.
    re.compile(r"(?<![\w+/])(?![0-9a-f]+\b)[A-Za-z0-9+/]{80,}={0,2}"),
)
# Characters that could end a line, or control a terminal.
_CONTROL = re.compile(r"[\x00-\x09\x0b-\x1f\x7f]")

# Loggers with many lines that help only to find a defect.
_TALKATIVE = ("kopf", "asyncio", "aiohttp.server")
_REFUSALS = "kopf._cogs.clients.errors"
"""The module of kopf's errors that are answers of an API server."""


def setup(log_format: LogFormat, level: LogLevel, stream: TextIO | None = None) -> None:
    """Write everything that this process logs, kopf's lines included, in one form to one stream."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonLines() if log_format == "json" else TextLines())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    logging.captureWarnings(True)
    least = logging.WARNING if level == "info" else logging.NOTSET
    if level != "debug":
        handler.addFilter(_without_trace_of_refusal)
    for name in _TALKATIVE:
        logging.getLogger(name).setLevel(least)
    logging.getLogger("aiohttp.access").disabled = True


def _without_trace_of_refusal(record: logging.LogRecord) -> bool:
    """Take the traceback from a line of kopf about an API server's refusal: each of its tasks logs one.

    Such a refusal is no defect: a CRD that was deleted, or a right that was taken away. The message has it.
    """
    error = record.exc_info[1] if record.exc_info else None
    if record.name.startswith("kopf.") and type(error).__module__ == _REFUSALS:
        record.exc_info = record.exc_text = None
    return True


class ObjectLogger(logging.LoggerAdapter[logging.Logger]):
    """A logger whose lines concern one object."""

    def process(self, msg: Any, kwargs: MutableMapping[str, Any]) -> tuple[Any, MutableMapping[str, Any]]:
        """Add the object to the line's extra fields."""
        kwargs["extra"] = {**(self.extra or {}), **(kwargs.get("extra") or {})}
        return msg, kwargs


def for_object(logger: logging.Logger, name: Name, uid: str = "") -> ObjectLogger:
    """Return a logger whose lines concern a MiniCluster."""
    about = {"kind": KIND, "namespace": name.namespace, "name": name.name, "uid": uid}
    return ObjectLogger(logger, {OBJECT: about})


def strike_out(text: str) -> str:
    """Return a text without its secrets."""
    for pattern in _SECRETS:
        text = pattern.sub(lambda found: found.groupdict().get("keep", "") + STRUCK_OUT, text)
    return text


class JsonLines(JsonFormatter):
    """A JSON object a line: time (UTC, RFC 3339), level, logger, message, object, further fields, error."""

    def add_fields(
        self, log_data: dict[str, Any], record: logging.LogRecord, message_dict: dict[str, Any]
    ) -> None:
        """Fill in the line's fields; nothing else of the record gets in."""
        log_data["time"] = datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds")
        log_data["level"] = record.levelname.lower()
        log_data["logger"] = record.name
        log_data["message"] = strike_out(record.getMessage())
        if about := _object(record):
            log_data[OBJECT] = about
        log_data.update(_fields(record))
        if trouble := message_dict.get("exc_info"):
            log_data["error"] = strike_out(str(trouble))


class TextLines(logging.Formatter):
    """A line for users: the local time, the level, the object, the message; a traceback below, indented."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)-7s %(message)s", "%H:%M:%S")

    def format(self, record: logging.LogRecord) -> str:
        """Return the line."""
        return strike_out(super().format(record)).replace("\n", "\n    ")

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802  # the library's name
        """Return the line without a traceback."""
        about = _object(record)
        whom = "/".join(about[part] for part in ("namespace", "name") if about.get(part))
        message = _CONTROL.sub("?", record.message)
        if whom and not message.startswith(whom):
            message = f"{whom}: {message}"
        fields = "".join(f" {key}={value}" for key, value in _fields(record).items())
        record.message = message + fields
        return super().formatMessage(record)


def _object(record: logging.LogRecord) -> dict[str, str]:
    """Return the object that a line concerns, from our field `object` or kopf's `k8s_ref`."""
    about = getattr(record, OBJECT, None) or getattr(record, "k8s_ref", None) or {}
    return {part: str(about[part]) for part in OBJECT_FIELDS if about.get(part)}


def _fields(record: logging.LogRecord) -> dict[str, str | int | float]:
    found = {key: getattr(record, key) for key in FIELDS if hasattr(record, key)}
    return {
        key: value if isinstance(value, int | float) else strike_out(str(value))
        for key, value in found.items()
    }
