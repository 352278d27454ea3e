"""Where an instance listens for a job's program, and how the job's tasks prove that they are of this job.

Every task of an elastic job has `MINICLUSTER_MALLEABLE`, the path of a file that its user alone can read. The
token in it is never sent. A task sends an HMAC over the instance's nonce and its claims.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from minicluster.malleable.errors import CredentialsError
from minicluster.malleable.variables import PATH_VARIABLE

if TYPE_CHECKING:
    from collections.abc import Mapping

VERSION = 1


def fresh_token() -> str:
    """Return a new token for one job."""
    return secrets.token_hex(32)


def proof(token: str, nonce: str, *claims: str | int) -> str:
    """Return the HMAC of these claims, in hexadecimal digits, for the side that chose the nonce."""
    text = json.dumps([nonce, *claims], separators=(",", ":"))  # no two lists of claims give one text
    return hmac.new(token.encode(), text.encode(), hashlib.sha256).hexdigest()


def proves(mac: str, token: str, nonce: str, *claims: str | int) -> bool:
    """Return whether `mac` proves the claims."""
    given = mac.encode("ascii", "replace")
    return hmac.compare_digest(given, proof(token, nonce, *claims).encode())


@dataclass(frozen=True)
class Credentials:
    """The content of the file that `MINICLUSTER_MALLEABLE` names."""

    address: str
    """Host:port of the instance."""
    job: str
    """The job's F58 id."""
    token: str
    offset: int = 0
    """What is added to a task's rank for its number, where workers are tasks of a companion job."""

    def __repr__(self) -> str:
        return f"Credentials(address={self.address!r}, job={self.job!r})"  # the token stays out of tracebacks

    def text(self) -> str:
        """Return the file's content."""
        fields = {"version": VERSION, "address": self.address, "job": self.job, "token": self.token}
        return json.dumps({**fields, **({"offset": self.offset} if self.offset else {})}) + "\n"


def from_environment(environment: Mapping[str, str]) -> Credentials | None:
    """Read the file that the environment names; None where it names none. Raises CredentialsError."""
    path = environment.get(PATH_VARIABLE)
    if not path:
        return None
    try:
        content = json.loads(Path(path).read_bytes())
    except OSError as error:
        raise CredentialsError(f"{PATH_VARIABLE}: {path}: {error.strerror}") from None
    except ValueError:
        raise CredentialsError(f"{PATH_VARIABLE}: {path}: not JSON") from None
    return _checked(path, content)


def _checked(path: str, content: object) -> Credentials:
    if not isinstance(content, dict):
        raise CredentialsError(f"{PATH_VARIABLE}: {path}: expected an object")
    if content.get("version") != VERSION:
        raise CredentialsError(
            f"{PATH_VARIABLE}: {path}: version {content.get('version')!r}, this library knows {VERSION}"
        )
    texts = [content.get(key) for key in ("address", "job", "token")]
    offset = content.get("offset", 0)
    if not all(isinstance(text, str) and text for text in texts) or type(offset) is not int:
        raise CredentialsError(f"{PATH_VARIABLE}: {path}: expected address, job and token, and no text empty")
    return Credentials(str(texts[0]), str(texts[1]), str(texts[2]), offset)
