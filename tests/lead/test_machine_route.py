"""The certificate for a machine's token: once, in its time, to whoever has it, and never in a log."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import pytest

from burst.joining import machine_boot
from burst.joining.machine_boot import MachineBootError, request_certificate
from minicluster.lead_client.machine_access import MachineAccess, fingerprint
from minicluster.lead_server import files, machine_route, machine_tokens
from minicluster.lead_server.errors import BadRequest
from minicluster.lead_server.machine_route import MAX_REFUSALS, NOT_GOOD, TOO_MANY, USED, MachineCertificates
from minicluster.lead_server.machine_tokens import MachineToken, UsedTokens
from minicluster.lead_server.purposes import MACHINE_CERTIFICATE
from minicluster.lead_server.routes import Audience
from minicluster.lead_server.server import Server
from tests.lead.client import Client
from tests.lead.keys import NAME, Authority
from tests.lead.serving import serving

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

KEY, SECRET = "b" * 64, "two keys\n"
NONCE, OTHER = "0" * 64, "1" * 64
NOW = 1_800_000_000.0
LABEL = "62dgmfw4gk"


@dataclass
class Lead:
    """A server that gives a certificate to machines."""

    directory: Path
    authority: Authority = field(default_factory=Authority)
    now: float = NOW
    log: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        token = self.authority.write(self.directory / "keys")
        (self.directory / "tokens").mkdir()
        (self.directory / "tokens" / "burst.token").write_text(KEY)
        (self.directory / "curve.cert").write_text(SECRET)
        server = self.server()
        self.running = server
        self.client = Client(server.port, self.authority.certificate, token)
        shown = fingerprint((self.directory / "keys" / files.CERTIFICATE).read_text())
        self.access = MachineAccess(NAME, shown, KEY)

    def server(self) -> Server:
        """Return a new one, over the same files."""
        directory = self.directory
        credentials = files.ServerCredentials(str(directory / "keys"), tokens=str(directory / "tokens"))
        routes = MachineCertificates(
            str(directory / "curve.cert"), credentials, self.record, self.log.append, lambda: self.now
        ).routes()
        return Server(0, credentials, routes, self.log.append, {MACHINE_CERTIFICATE: Audience.ALL})

    @property
    def record(self) -> Path:
        return self.directory / machine_route.RECORD

    def token(self, number: int = 0, until: float = NOW + 600) -> str:
        return self.access.token(LABEL, number, until)

    def ask(self, token: object, nonce: object = NONCE) -> tuple[int, Any]:
        """Ask as no program of ours does: the answer's code, and its words."""
        try:
            code, answer = self.client.ask("POST", MACHINE_CERTIFICATE, {"token": token, "nonce": nonce}, {})
        except ValueError:
            return 200, SECRET  # it is no JSON
        return code, answer["error"]

    def get(self, token: str, nonce: str = NONCE, **other: Any) -> str:
        """Ask as a machine does."""
        lead = {"address": "127.0.0.1", "port": self.running.port, "name": NAME}
        return request_certificate({**lead, "fingerprint": self.access.fingerprint, **other}, token, nonce)


@pytest.fixture
def lead(tmp_path: Path) -> Iterator[Lead]:
    made = Lead(tmp_path)
    with serving(made.running):
        yield made


def test_a_machine_gets_it_for_its_token_and_may_ask_again_after_a_lost_answer(lead: Lead) -> None:
    token = lead.token()
    assert lead.get(token) == SECRET
    assert lead.get(token) == SECRET
    with pytest.raises(MachineBootError, match=f"127.0.0.1:{lead.running.port} answers 403: {USED}"):
        lead.get(token, OTHER)
    assert lead.get(lead.token(1), OTHER) == SECRET


def test_after_a_restart_of_the_server_a_used_token_is_used(lead: Lead) -> None:
    token = lead.token()
    assert lead.ask(token) == (200, SECRET)
    assert lead.record.stat().st_mode & 0o777 == 0o600
    assert KEY not in lead.record.read_text()
    assert token not in lead.record.read_text()
    later = lead.server()
    with serving(later):
        lead.client.port = later.port
        assert lead.ask(token, OTHER) == (403, USED)
        assert lead.ask(token, NONCE) == (200, SECRET)


def test_after_its_time_it_is_refused_and_not_kept(lead: Lead) -> None:
    token = lead.token(until=NOW + 0.5)
    assert lead.ask(token) == (200, SECRET)
    lead.now = NOW + 1
    assert lead.ask(token) == (
        403,
        f"the time of the token is over, which machine 0 of {LABEL} has",
    )
    assert lead.ask(lead.token(1)) == (200, SECRET)
    assert lead.record.read_text().split()[::2] == [f"{LABEL}.1.1800000600"]


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda _: "", id="empty"),
        pytest.param(lambda token: token[:-1] + ("0" if token[-1] != "0" else "1"), id="mark"),
        pytest.param(lambda token: token.replace(f"{LABEL}.0.", f"{LABEL}.1."), id="another machine"),
        pytest.param(lambda token: token.replace("1800000600", "1800009999"), id="more time"),
        pytest.param(lambda token: f"{token}x", id="longer"),
        pytest.param(lambda token: token.rpartition(".")[0], id="no mark"),
        pytest.param(lambda _: "ü.0.1.é", id="not ascii"),
        pytest.param(lambda _: KEY, id="the key"),
        pytest.param(lambda _: MachineAccess("", "", "c" * 64).token(LABEL, 0, NOW + 600), id="another key"),
        pytest.param(
            lambda _: machine_tokens.machine_token("", MachineToken(LABEL, 0, 1 << 31)), id="no key"
        ),
    ],
)
def test_what_is_no_token_of_this_lead_is_refused(lead: Lead, change: Any) -> None:
    assert lead.ask(change(lead.token())) == (401, NOT_GOOD)
    assert not lead.record.exists()


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (("t", None), "token and nonce are needed, two texts"),
        ((1, NONCE), "token and nonce are needed, two texts"),
        ((None, "short"), "a nonce of 32 to 128 hexadecimal digits is right"),
        ((None, "x" * 64), "a nonce of 32 to 128 hexadecimal digits is right"),
    ],
)
def test_a_request_that_lacks_something_is_refused(lead: Lead, body: tuple[Any, Any], problem: str) -> None:
    token, nonce = body
    assert lead.ask(lead.token() if token is None else token, nonce) == (400, problem)


def test_after_many_refusals_only_a_good_token_is_answered_in_words(lead: Lead) -> None:
    """So nobody keeps machines out, and the log says little, and no token."""
    wrong = lead.token()[:-1] + "z"
    codes = [lead.ask(wrong)[0] for _ in range(MAX_REFUSALS)]
    assert codes == [401] * MAX_REFUSALS
    assert lead.ask(wrong) == (429, TOO_MANY)
    assert lead.ask(lead.token()) == (200, SECRET)
    assert [line[:20] for line in lead.log] == ["refused 1 request(s)", "refused 20 request(s"]
    assert not any(each in "".join(lead.log) for each in (wrong, KEY, SECRET.strip()))
    lead.now += machine_route.REFUSAL_SECONDS
    assert lead.ask(wrong) == (401, NOT_GOOD)


def test_of_many_who_ask_at_once_one_gets_it(lead: Lead) -> None:
    token = lead.token()
    codes: list[int] = []
    asking = [
        threading.Thread(target=lambda nonce=f"{number:064x}": codes.append(lead.ask(token, nonce)[0]))
        for number in range(8)
    ]
    for each in asking:
        each.start()
    for each in asking:
        each.join()
    assert sorted(codes) == [200, *[403] * 7]


def test_what_cannot_be_noted_is_not_given(lead: Lead) -> None:
    lead.record.with_name(f"{lead.record.name}.new").mkdir()
    assert lead.ask(lead.token()) == (503, "cannot note that the token is used: Is a directory")
    lead.record.with_name(f"{lead.record.name}.new").rmdir()
    lead.record.write_text("what is this\n")
    later = lead.server()
    with serving(later):
        lead.client.port = later.port
        problem = f"{lead.record}: it has a line that is none of its own"
        assert lead.ask(lead.token()) == (503, f"cannot note that the token is used: {problem}")


def test_without_the_certificate_a_token_is_not_used(lead: Lead) -> None:
    path = lead.directory / "curve.cert"
    path.unlink()
    why = f"cannot read the certificate {path}: No such file or directory"
    assert lead.ask(lead.token()) == (503, why)
    path.write_text(SECRET)
    assert lead.ask(lead.token(), OTHER) == (200, SECRET)


def test_a_lead_with_no_certificate_to_give_has_no_route(tmp_path: Path) -> None:
    credentials: Any = None
    assert MachineCertificates("", credentials, tmp_path, print).routes() == {}


def test_the_record_is_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(machine_tokens, "MAX_USED", 2)
    used = UsedTokens(tmp_path / "used")
    first, second, third = (MachineToken(LABEL, number, int(NOW) + number) for number in range(1, 4))
    assert used.use(first, NONCE, NOW)
    assert used.use(second, NONCE, NOW)
    with pytest.raises(BadRequest, match="2 tokens are used already") as caught:
        used.use(third, NONCE, NOW)
    assert caught.value.code == 503
    assert used.use(third, NONCE, NOW + 1)


def test_a_lead_with_another_certificate_gets_no_token(lead: Lead) -> None:
    shown = lead.access.fingerprint
    with pytest.raises(MachineBootError) as caught:
        lead.get(lead.token(), fingerprint="ab" * 32)
    assert str(caught.value) == (
        f"127.0.0.1:{lead.running.port} shows a certificate with the fingerprint {shown}, not {'ab' * 32}:"
        " it is not the lead's API, and gets no token"
    )
    assert not lead.record.exists()


def test_machines_ask_where_it_is_given() -> None:
    assert machine_boot.CERTIFICATE_PATH == MACHINE_CERTIFICATE
