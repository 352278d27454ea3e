"""Which accounts of a machine may log in by PAM."""

from __future__ import annotations

import grp
import os
import pwd
from types import SimpleNamespace

import pytest

from restful.identity.pam_accounts import PamAccounts, is_allowance

ACCOUNTS = {
    "root": 0,
    "toor": 0,
    "daemon": 1,
    "service": 998,
    "mc": 1000,
    "dora": 1001,
    "emil": 1002,
    "nobody": 65_534,
}
GROUPS = {"hpc": (5000, {"dora", "daemon", "root", "mc"}), "staff": (5001, {"emil"})}


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the accounts and groups in place of the machine's."""

    def account(name: str) -> SimpleNamespace:
        return SimpleNamespace(pw_name=name, pw_uid=ACCOUNTS[name], pw_gid=ACCOUNTS[name])

    def groups(name: str, own: int) -> list[int]:
        return [own, *(number for number, members in GROUPS.values() if name in members)]

    monkeypatch.setattr(pwd, "getpwnam", account)
    monkeypatch.setattr(grp, "getgrnam", lambda name: SimpleNamespace(gr_gid=GROUPS[name][0]))
    monkeypatch.setattr(os, "getgrouplist", groups)


@pytest.mark.parametrize(
    ("allowed", "expected"),
    [
        pytest.param((), {"dora", "emil"}, id="people as a rule"),
        pytest.param(("dora",), {"dora"}, id="one"),
        pytest.param(("@hpc",), {"dora"}, id="a group, without its accounts of programs and the service's"),
        pytest.param(("@hpc", "emil"), {"dora", "emil"}, id="a group and one"),
        pytest.param(("mc",), {"mc"}, id="the service's own"),
        pytest.param(
            ("service", "daemon", "nobody"), {"service", "daemon", "nobody"}, id="programs' by name"
        ),
        pytest.param(("root", "toor"), set(), id="root never"),
        pytest.param(("@none",), set(), id="a group that is not there"),
        pytest.param(("@hpc", "@none", "@staff"), {"dora", "emil"}, id="several"),
    ],
)
def test_who_may_log_in(allowed: tuple[str, ...], expected: set[str]) -> None:
    accounts = PamAccounts(allowed, own=1000)
    assert {name for name in (*ACCOUNTS, "absent") if accounts.admits(name)} == expected


def test_the_services_own_account_is_that_of_its_process() -> None:
    assert PamAccounts().own == os.geteuid()


@pytest.mark.parametrize("text", ["", "@", "a b", "a:b", "-x", "@@x", "a\n"])
def test_what_names_nobody(text: str) -> None:
    assert not is_allowance(text)
