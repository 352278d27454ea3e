"""`minicluster rest-api` refuses what it cannot be started with, and shows no password."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

import pytest
from typer.testing import CliRunner

from minicluster.cli.main import _report_error
from restful.kubernetes import administration
from restful.kubernetes.command import app
from restful.kubernetes.settings import database_url
from restful.store.schema import SCHEMA
from tests.database import ready_file

if TYPE_CHECKING:
    from pathlib import Path

DATABASE = ["--database", "sqlite:////nowhere/rest.db"]
GIVEN = [*DATABASE, "--master-key", "key"]
CANARY = "canary-of-the-password"
WRONG: dict[str, tuple[list[str], str]] = {
    "no database": ([], "--database is needed, or the variable MINICLUSTER_REST_DATABASE"),
    "no master key": (DATABASE, "--master-key is needed, or the variable MINICLUSTER_REST_MASTER_KEY"),
    "no port": ([*GIVEN, "--listen", "127.0.0.1"], "needed is ADDRESS:PORT"),
    "no port for metrics": ([*GIVEN, "--metrics-listen", "x"], "--metrics-listen: x: needed is ADDRESS:PORT"),
    "plain HTTP for others": (
        [*GIVEN, "--listen", ":8443", "--url", "https://mc.example"],
        "passwords would go there unencrypted: give --tls-cert and --tls-key, or --behind-proxy",
    ),
    "every address, and no name": (
        [*GIVEN, "--listen", ":8443", "--behind-proxy", "10.0.0.7"], "has no name: give --url",
    ),
    "a certificate without a key": ([*GIVEN, "--tls-cert", "x"], "--tls-cert and --tls-key go together"),
    "a URL with a path": ([*GIVEN, "--url", "https://mc.example/x"], "needed is https://HOST"),
    "no proxy": ([*GIVEN, "--behind-proxy", "x"], "needed is an address or a network"),
    "half of an OpenID provider": (
        [*GIVEN, "--oidc-issuer", "https://id.example"],
        "give --oidc-client-id and --oidc-client-secret-file",
    ),
    "no service of PAM": ([*GIVEN, "--pam", "a/b"], "needed is the name of a file in /etc/pam.d"),
    "somebody by PAM, without it": ([*GIVEN, "--pam-allow", "dora"], "--pam-allow is about logins by PAM"),
    "no lifetime of sessions": ([*GIVEN, "--session-lifetime", "soon"], "--session-lifetime 'soon' is no"),
    "too short a lifetime": ([*GIVEN, "--session-lifetime", "1m"], "needed is from 15m to 90d"),
    "no login": ([*GIVEN, "--no-auth"], "No such option"),
    "the Secret without a name": ([*GIVEN, "--tokens-secret", "system"], "needed is NAMESPACE/NAME"),
    "another tenancy": ([*GIVEN, "--tenancy-default", "accounts"], "'accounts' is not one of"),
    "no database's URL": (["--database", "x", "--master-key", "k"], "a database begins with its kind"),
    "a password": (
        ["--database", f"postgresql://rest:{CANARY}@db/rest", "--master-key", "k"],
        "a password on the command line is seen by everybody on the node: write the URL into a file",
    ),
    "a password as an option": (
        ["--database", f"postgresql://rest@db/rest?password={CANARY}", "--master-key", "k"],
        "a password on the command line is seen by everybody on the node",
    ),
    "no file with the URL": (
        ["--database", "file:/nowhere/url", "--master-key", "k"],
        "--database file:/nowhere/url: No such file or directory",
    ),
    "migrate without a database": (["migrate"], "is needed, or the variable MINICLUSTER_REST_DATABASE"),
    "a link without a key": (["admin-link", *DATABASE], "MINICLUSTER_REST_MASTER_KEY"),
    "a link without an address": (["admin-link", *GIVEN], "MINICLUSTER_REST_URL"),
    "another command": (["dance"], "No such command 'dance'"),
}  # fmt: skip


@pytest.mark.parametrize(("words", "message"), WRONG.values(), ids=WRONG)
def test_wrong_options(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    answer = CliRunner().invoke(app, words, env={"COLUMNS": "250", "TERM": "dumb"})
    shown = answer.output
    if answer.exception is not None and not isinstance(answer.exception, SystemExit):
        assert _report_error(answer.exception) in {1, 2}  # type: ignore[arg-type]  # as `main` shows it
        shown += capsys.readouterr().err
    assert answer.exit_code != 0
    assert message in " ".join(shown.split())
    assert CANARY not in shown


FILES = {
    "nothing": b"",
    "two lines": b"sqlite:////a\nsqlite:////b\n",
    "no text": b"\xff\xfe",
    "too long": b"postgresql://" + b"a" * 5000,
}


@pytest.mark.parametrize("content", FILES.values(), ids=FILES)
def test_a_file_has_a_url_alone(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "url").write_bytes(content)
    answer = CliRunner().invoke(app, ["--database", f"file:{tmp_path}/url", "--master-key", "k"])
    assert str(answer.exception).endswith("/url: needed is a file with a URL alone, on one line")


def test_a_file_may_have_a_password(tmp_path: Path) -> None:
    (tmp_path / "url").write_text(f"postgresql://rest:{CANARY}@db/rest\n")
    assert database_url(f"file:{tmp_path}/url") == f"postgresql://rest:{CANARY}@db/rest"


def test_what_is_wrong_in_a_file_is_not_shown(tmp_path: Path) -> None:
    (tmp_path / "url").write_text(f"postgresql://rest:{CANARY}@@db\n")
    answer = CliRunner().invoke(app, ["migrate", "--database", f"file:{tmp_path}/url"])
    assert "the URL of PostgreSQL cannot be read" in str(answer.exception)
    assert CANARY not in str(answer.exception) + answer.output


def test_tables_are_made_and_the_first_admin_is_let_in(tmp_path: Path) -> None:
    """By two further commands; the variables stand for their options."""
    key = tmp_path / "key"
    key.write_bytes(secrets.token_bytes(32))
    key.chmod(0o440)
    variables = {
        "MINICLUSTER_REST_DATABASE": f"sqlite:///{tmp_path}/state/rest.db",
        "MINICLUSTER_REST_MASTER_KEY": str(key),
        "MINICLUSTER_REST_URL": "https://mc.example/",
    }
    for _ in range(2):  # again: it does nothing
        assert CliRunner().invoke(app, ["migrate"], env=variables).exit_code == 0
    links = [CliRunner().invoke(app, ["admin-link"], env=variables).output for _ in range(2)]
    assert all(each.startswith("https://mc.example/login/link?token=mcl_") for each in links)
    assert links[0] != links[1]


def test_a_database_without_tables_has_no_admin(tmp_path: Path) -> None:
    key = tmp_path / "key"
    key.write_bytes(b"k" * 32)
    key.chmod(0o400)
    words = ["admin-link", "--database", f"sqlite:///{tmp_path}/rest.db", "--master-key", str(key)]
    answer = CliRunner().invoke(app, [*words, "--url", "https://mc.example"])
    assert str(answer.exception) == f"there is no database sqlite:///{tmp_path}/rest.db: migrate makes it"


KEYS: dict[str, tuple[int, int, str]] = {
    "everybody reads it": (32, 0o444, "lets others read it; give the Secret's volume defaultMode 0440"),
    "too short": (31, 0o440, "a master key has 32 bytes; this file does not"),
    "base64": (44, 0o440, "a master key has 32 bytes; this file does not"),
}


@pytest.mark.parametrize(("size", "mode", "message"), KEYS.values(), ids=KEYS)
def test_what_is_no_master_key(size: int, mode: int, message: str, tmp_path: Path) -> None:
    key, file = tmp_path / "key", tmp_path / "rest.db"
    key.write_bytes(b"k" * size)
    key.chmod(mode)
    file.write_bytes(ready_file.content(SCHEMA))
    with pytest.raises(Exception, match=message):
        administration.first_admin_link(f"sqlite:///{file}", key, "https://mc.example")


def test_a_missing_master_key_is_not_made(tmp_path: Path) -> None:
    key, file = tmp_path / "key", tmp_path / "rest.db"
    file.write_bytes(ready_file.content(SCHEMA))
    with pytest.raises(Exception, match="No such file or directory; it must be a file with 32 random bytes"):
        administration.first_admin_link(f"sqlite:///{file}", key, "https://mc.example")
    assert not key.exists()


def test_a_master_key_may_be_a_link(tmp_path: Path) -> None:
    """As a kubelet makes them in a Secret's volume."""
    file = tmp_path / "rest.db"
    file.write_bytes(ready_file.content(SCHEMA))
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "key").write_bytes(b"k" * 32)
    (tmp_path / "data" / "key").chmod(0o440)
    (tmp_path / "key").symlink_to(tmp_path / "data" / "key")
    link = administration.first_admin_link(f"sqlite:///{file}", tmp_path / "key", "https://mc.example")
    assert link.startswith("mcl_")
