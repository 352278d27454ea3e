"""The URL of a database as an administrator gives it: itself, or the path of a file that has it."""

from __future__ import annotations

from pathlib import Path

from minicluster.database import address
from minicluster.database.errors import DatabaseUrlInvalid

FILE = "file:"
MAX_URL_BYTES = 4096


def given_url(text: str) -> str:
    """Return the URL that a text is, or that the file behind `file:` has.

    Raises DatabaseUrlInvalid for what cannot be read, or is seen by others, and DatabaseError for what is no
    database's.
    """
    if text.startswith(FILE):
        return _content(Path(text.removeprefix(FILE)))
    if address.parsed(text).has_password:
        raise DatabaseUrlInvalid(
            "--database: a password on the command line is seen by everybody on the node: write the URL into"
            " a file, and give --database file:PATH"
        )
    return text


def _content(path: Path) -> str:
    try:
        with path.open("rb") as file:
            content = file.read(MAX_URL_BYTES + 1)
        text = content.decode().strip()
    except OSError as error:
        raise DatabaseUrlInvalid(f"--database {FILE}{path}: {error.strerror}") from error
    except ValueError:
        text = ""
    if not text or len(content) > MAX_URL_BYTES or len(text.split()) != 1:
        raise DatabaseUrlInvalid(f"--database {FILE}{path}: needed is a file with a URL alone, on one line")
    address.parsed(text)  # raises, without a word of it
    return text
