"""Requests of users over the link to real Flux: whose a message is, by the options of its handle."""

from __future__ import annotations

import errno
import importlib
import sys
from types import ModuleType, SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest

from minicluster.broker_link import flux_users
from minicluster.broker_link.errors import InstanceGone, NotAllowed, RequestRefused
from minicluster.broker_link.users import UNKNOWN

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

NAME = "minicluster.broker_link.flux_link"
ALICE, OWNER = 7001, 7000
NOBODY = (UNKNOWN, 0)


class Rpc:
    """A request under way."""

    pimpl = SimpleNamespace(get_matchtag=lambda: 11)

    def then(self, callback: Callable[..., None], *arguments: object) -> None:
        """It is not answered."""

    def wait_for(self, _seconds: float) -> None:
        """It is answered at once."""

    def get(self) -> dict[str, Any]:
        return {}


class Handle:
    """A handle that notes as whom each message is sent."""

    def __init__(self, _uri: str) -> None:
        self.sent: list[tuple[str, int, int]] = []
        self.options = {"flux::testing_userid": UNKNOWN, "flux::testing_rolemask": 0}
        self.refused: Callable[[str, int], bool] = lambda _option, _value: False

    def opt_set(self, option: str, data: bytes, size: int) -> None:
        value = int.from_bytes(data, sys.byteorder)
        assert len(data) == size == 4
        if self.refused(option, value):
            raise OSError(errno.EINVAL, "Invalid argument")
        self.options[option] = value

    def rpc(self, topic: str, *_: object, **__: object) -> Rpc:
        self.sent.append((topic, *self.options.values()))
        return Rpc()


@pytest.fixture
def link(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A link over a flux module that is none."""
    flux: Any = ModuleType("flux")
    flux.constants = ModuleType("flux.constants")
    flux.constants.FLUX_RPC_STREAMING = flux.constants.FLUX_RPC_NORESPONSE = 1
    flux.Flux = Handle
    monkeypatch.setitem(sys.modules, "flux", flux)
    monkeypatch.setitem(sys.modules, "flux.constants", flux.constants)
    monkeypatch.delitem(sys.modules, NAME, raising=False)
    made = importlib.import_module(NAME).FluxLink("local:///nowhere")
    yield made
    made.close()
    sys.modules.pop(NAME, None)


def test_each_message_is_its_askers(link: Any) -> None:
    """Those of the owner in between are his, and the end of a stream is of who began it."""
    link.rpc("one", {}, None, ALICE)
    link.rpc("two", {})
    link.request("three", {}, print, 7002)
    alices = link.stream("four", {}, print, ALICE)
    owners = link.stream("five", {}, print)
    link.cancel(alices)
    link.cancel(owners)
    assert link._handle.sent == [
        ("one", ALICE, 2),
        ("two", *NOBODY),
        ("three", 7002, 2),
        ("four", ALICE, 2),
        ("five", *NOBODY),
        ("four-cancel", ALICE, 2),
        ("five-cancel", *NOBODY),
    ]


@pytest.mark.parametrize("option", ["flux::testing_userid", "flux::testing_rolemask"])
def test_a_flux_that_does_not_know_the_options_is_asked_nothing(link: Any, option: str) -> None:
    link._handle.refused = lambda name, value: name == option and value not in NOBODY
    with pytest.raises(RequestRefused, match=r"job-list\.list: Invalid argument"):
        link.rpc("job-list.list", {}, None, ALICE)
    assert (link._handle.sent, tuple(link._handle.options.values())) == ([], NOBODY)


def test_a_handle_that_stays_a_users_is_given_up(link: Any) -> None:
    """Else the owner's next request would be a user's."""
    link._handle.refused = lambda _option, value: value == UNKNOWN
    with pytest.raises(InstanceGone) as gone:
        link.rpc("job-list.list", {}, None, ALICE)
    assert str(gone.value) == "the connection cannot be its owner's again: Invalid argument"


class Flux:
    """A link to an instance with this configuration, of `asker`; `is_private`: users see their jobs only."""

    def __init__(self, access: dict[str, Any] | None, asker: int = OWNER, is_private: bool = True) -> None:
        self._access = access
        self._asker = asker
        self._is_private = is_private

    def rpc(
        self, topic: str, payload: dict[str, Any], _timeout: float, user: int | None = None
    ) -> dict[str, Any]:
        if topic == "job-list.job-stats":
            assert user == ALICE
            if self._is_private:
                raise NotAllowed(topic, errno.EPERM)
            return {}
        role = flux_users.ROLE_OWNER if self._asker == OWNER else flux_users.ROLE_USER
        answers: dict[str, dict[str, Any]] = {
            "broker.ping": {"userid": self._asker, "rolemask": role},
            "attr.get": {"value": str(OWNER)},
            "config.get": {} if self._access is None else {"access": self._access},
        }
        assert payload.get("name", "security.owner") == "security.owner"
        return answers[topic]


OPEN = {"allow-guest-user": True, "private-mode": True}
REFUSALS = [
    pytest.param(Flux(OPEN), ALICE, "", id="taken"),
    pytest.param(
        Flux(OPEN, asker=7002),
        ALICE,
        "this connection is of uid 7002, and only the instance's owner asks for others",
        id="another user's connection",
    ),
    pytest.param(
        Flux(OPEN), OWNER, "uid 7000 is the instance's owner: the connection itself is his", id="the owner"
    ),
    pytest.param(
        Flux({"allow-guest-user": True}),
        ALICE,
        "the configuration of the instance lacks access.private-mode = true",
        id="users see all",
    ),
    pytest.param(
        Flux({**OPEN, "allow-guest-user": False}),
        ALICE,
        "the configuration of the instance lacks access.allow-guest-user = true",
        id="users may not connect",
    ),
    pytest.param(
        Flux(None),
        ALICE,
        "the configuration of the instance lacks access.allow-guest-user = true and access.private-mode ="
        " true",
        id="no table",
    ),
    pytest.param(
        Flux(OPEN, is_private=False),
        ALICE,
        "this Flux shows users all jobs: it knows access.private-mode from 0.88 on",
        id="an older Flux",
    ),
]


@pytest.mark.parametrize(("link_of", "uid", "words"), REFUSALS)
def test_why_nothing_can_be_asked_for_a_user(link_of: Any, uid: int, words: str) -> None:
    assert flux_users.refusal(link_of, uid) == words


def test_what_is_no_uid_is_refused_before_anything_is_asked(link: Any) -> None:
    assert link.user_refusal(0) == "uid 0 is root's, for whom nothing is asked"
    assert link._handle.sent == []
