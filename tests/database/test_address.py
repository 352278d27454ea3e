"""URLs of databases: what they mean, what is refused, and that no password is ever quoted."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minicluster.database import DatabaseError, address

REFUSED = [
    pytest.param("state.db", "the URL of a database begins with its kind: sqlite:///FILE or", id="no scheme"),
    pytest.param(
        "mysql://u:secret@h/d", "'mysql' is no kind of database here: use sqlite:///FILE", id="mysql"
    ),
    pytest.param("sqlite://state.db", "behind three slashes: sqlite:///state.db", id="two slashes"),
    pytest.param("sqlite:///", "a database in memory would end with the process: name a file", id="no file"),
    pytest.param("sqlite:///:memory:", "a database in memory would end with the process", id="memory"),
    pytest.param("sqlite:///a.db?mode=ro", "sqlite:///a.db: a file's name has no options", id="options"),
    pytest.param("postgresql://u@h", "it is postgresql://USER@HOST/DATABASE", id="no database"),
    pytest.param("postgresql://u@h:x/d", "it is postgresql://USER@HOST/DATABASE", id="no port"),
    pytest.param("postgresql://u:a@b@h/d", "special characters are written as in %40", id="two @"),
    pytest.param("postgresql://u@h/d?sslmode", "it is postgresql://USER@HOST/DATABASE?OPTION", id="no value"),
]


@pytest.mark.parametrize(("url", "words"), REFUSED)
def test_what_is_no_database_is_refused(url: str, words: str) -> None:
    with pytest.raises(DatabaseError) as caught:
        address.parsed(url)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("url", "path"),
    [("sqlite:///state.db", "state.db"), ("sqlite:////var/lib/a b.db", "/var/lib/a b.db")],
    ids=["relative", "absolute"],
)
def test_a_file_is_named_from_here_or_by_its_whole_path(url: str, path: str) -> None:
    found = address.parsed(url)
    assert (found.engine, found.path, str(found)) == ("sqlite", Path(path), url)


@pytest.mark.parametrize(
    ("url", "public"),
    [
        ("postgresql://rest@db.example/rest", "postgresql://rest@db.example/rest"),
        (
            "postgres://rest:secret@db.example:5433/rest?sslmode=require",
            "postgresql://rest@db.example:5433/rest",
        ),
        ("postgresql://rest@/rest?host=/run/postgresql&password=secret", "postgresql://rest@/rest"),
        ("postgresql:///rest", "postgresql:///rest"),
        ("postgresql://rest@a:1,b:2/rest", "postgresql://rest@a:1,b:2/rest"),
    ],
    ids=["plain", "password", "in options", "no user", "two hosts"],
)
def test_a_server_is_shown_without_password_and_options(url: str, public: str) -> None:
    assert str(address.parsed(url)) == public


@given(st.text(st.characters(codec="ascii", categories=["L", "N", "P", "S"]), max_size=12), st.booleans())
def test_no_password_is_ever_shown(rest: str, quoted: bool) -> None:
    """Also where somebody forgot to write its special characters as in %40."""
    password = "sesame" + rest
    url = f"postgresql://rest:{quote(password, safe='') if quoted else password}@db.example/rest"
    try:
        found = address.parsed(url)
        shown = f"{found} {found!r}"
    except DatabaseError as error:
        assert not quoted
        shown = f"{error} {error.__cause__!r}"
    assert "sesame" not in shown
