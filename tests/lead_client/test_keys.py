"""The operator's own keys: what they open, and where they are kept."""

import asyncio
import base64
import json
import ssl
import stat
from collections.abc import Awaitable
from pathlib import Path
from typing import Any, TypeVar

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import serialization

from minicluster.kube_client.errors import ApiError
from minicluster.kube_client.objects import ObjectReference
from minicluster.lead_client import key_store
from minicluster.lead_client.errors import LeadKeysError
from minicluster.lead_client.key_store import SECRET, of_file, of_secret
from minicluster.lead_client.keys import LeadAuthority
from minicluster.lead_client.purpose_keys import METRICS
from tests.operator import virtual_time
from tests.operator.memory_api import MemoryApi

T = TypeVar("T")
UID = "8c8a2f4e-6b0f-4f3a-9d53-0f6f2a1c7b11"
HOME = "minicluster-system"
OURS = LeadAuthority.make()


def run(work: Awaitable[T]) -> T:
    async def awaited() -> T:
        return await work

    return virtual_time.run(awaited())


class TestWhatTheyOpen:
    def test_the_certificate_is_for_one_minicluster(self) -> None:
        found = x509.load_pem_x509_certificate(OURS.issue(UID).certificate.encode())
        names = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        assert names.get_values_for_type(x509.DNSName) == [f"{UID}.door.minicluster"]

    def test_the_certificate_is_also_for_the_names_of_the_leads_pod(self) -> None:
        """Whoever asks by them, such as KEDA, cannot be told another name to look for."""
        hosts = ["mc-0.mc.science.svc", "mc-0.mc.science.svc.cluster.local"]
        found = x509.load_pem_x509_certificate(OURS.issue(UID, hosts).certificate.encode())
        names = found.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        assert names.get_values_for_type(x509.DNSName) == [f"{UID}.door.minicluster", *hosts]

    def test_the_strictest_reader_takes_the_certificates(self, tmp_path: Path) -> None:
        """RFC 5280 to the letter, as Python does from 3.13 on."""
        keys = OURS.issue(UID)
        (tmp_path / "crt").write_text(keys.certificate)
        (tmp_path / "key").write_text(keys.key)
        server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        server.load_cert_chain(tmp_path / "crt", tmp_path / "key")
        client = OURS.trust()
        client.verify_flags |= ssl.VERIFY_X509_STRICT
        there, back = ssl.MemoryBIO(), ssl.MemoryBIO()
        ends = (
            client.wrap_bio(back, there, server_hostname=f"{UID}.door.minicluster"),
            server.wrap_bio(there, back, server_side=True),
        )
        for _ in range(4):
            for end in ends:
                try:
                    end.do_handshake()
                except ssl.SSLWantReadError:
                    continue
        assert ends[0].version() in {"TLSv1.2", "TLSv1.3"}

    def test_each_minicluster_has_a_token_of_its_own(self) -> None:
        assert OURS.token(UID) != OURS.token("another")
        assert len(OURS.token(UID)) == 64

    def test_the_token_for_metrics_is_another_one_and_the_adapters(self) -> None:
        """Who has the key for metrics makes it, and cannot make the door's own."""
        keys = OURS.issue(UID)
        assert keys.metrics_token == OURS.purpose(METRICS).token(UID)
        assert keys.metrics_token not in (keys.token, OURS.purpose(METRICS).token("another"))

    def test_another_operator_has_other_tokens(self) -> None:
        assert LeadAuthority.make().token(UID) != OURS.token(UID)

    def test_stored_and_read_they_are_the_same(self) -> None:
        again = LeadAuthority.load(OURS.files())
        assert again.token(UID) == OURS.token(UID)
        assert again.files() == OURS.files()

    def test_nothing_secret_shows(self) -> None:
        """Neither in a log nor in a traceback."""
        keys = OURS.issue(UID)
        shown = repr(keys) + repr(OURS)
        assert keys.token not in shown
        assert "PRIVATE KEY" not in shown


def odd_key() -> str:
    """Return a private key of a curve that nobody knows."""
    key = serialization.load_pem_private_key(OURS.files()["ca.key"].encode(), None)
    form = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    known = bytes.fromhex("2a8648ce3d030107")
    der = key.private_bytes(serialization.Encoding.DER, *form)
    text = base64.b64encode(der.replace(known, known[:-1] + b"\x6f")).decode()
    return f"-----BEGIN PRIVATE KEY-----\n{text}\n-----END PRIVATE KEY-----\n"


DAMAGED: list[Any] = [
    pytest.param({"token.key": None}, "token.key is missing", id="missing"),
    pytest.param({"ca.crt": "x"}, "they are damaged", id="no certificate"),
    pytest.param({"ca.key": "x"}, "they are damaged", id="no key"),
    pytest.param({"token.key": "not hexadecimal"}, "they are damaged", id="no token key"),
    pytest.param({"token.key": ""}, "they are damaged", id="an empty token key"),
    pytest.param({"token.key": "ab" * 31}, "they are damaged", id="a short token key"),
    pytest.param({"ca.key": odd_key()}, "they are damaged", id="a key of an unknown kind"),
    pytest.param(
        {"ca.key": LeadAuthority.make().files()["ca.key"]},
        "ca.key is not the key of ca.crt",
        id="another's key",
    ),
]


def damaged(changes: dict[str, str | None]) -> dict[str, str]:
    return {name: text for name, text in {**OURS.files(), **changes}.items() if text is not None}


class TestInASecret:
    REFERENCE = ObjectReference("Secret", HOME, SECRET)

    def stored(self, api: MemoryApi, files: dict[str, str]) -> None:
        item = key_store._secret(HOME, OURS)
        encoded = {name: key_store.b64encode(text.encode()).decode() for name, text in files.items()}
        api.store.create({**item, "data": encoded}, "somebody")

    def test_the_first_makes_them_and_the_second_finds_them(self) -> None:
        async def work() -> tuple[str, str]:
            api = MemoryApi()
            return (await of_secret(api, HOME)).token(UID), (await of_secret(api, HOME)).token(UID)

        first, second = run(work())
        assert first == second

    def test_two_at_once_agree(self) -> None:
        """Both see that there is none; the one that comes too late takes the other's."""

        async def work() -> set[str]:
            api = MemoryApi()
            api.latency = 1.0
            found = await asyncio.gather(of_secret(api, HOME), of_secret(api, HOME))
            return {each.token(UID) for each in found}

        assert len(run(work())) == 1

    def test_the_secret_never_changes(self) -> None:
        api = MemoryApi()
        run(of_secret(api, HOME))
        assert api.store.objects[self.REFERENCE]["immutable"] is True

    @pytest.mark.parametrize(("changes", "why"), DAMAGED)
    def test_damaged(self, changes: dict[str, str | None], why: str) -> None:
        api = MemoryApi()
        self.stored(api, damaged(changes))
        with pytest.raises(LeadKeysError) as caught:
            run(of_secret(api, HOME))
        assert str(caught.value) == (
            f"the operator's keys in Secret {HOME}/{SECRET}: {why}; delete it: new ones are made at the next"
            " start, and the leads of MiniClusters that are there then do not know them"
        )

    def test_a_right_that_is_missing_is_named(self) -> None:
        class Forbidding(MemoryApi):
            async def read(self, *_: Any) -> Any:
                raise ApiError(403, "Forbidden", "secrets is forbidden")

        with pytest.raises(LeadKeysError) as caught:
            run(key_store.authority(Forbidding(), HOME))
        assert str(caught.value) == (
            f"cannot get or create Secret {HOME}/{SECRET}, where the operator keeps its keys: 403 Forbidden:"
            " secrets is forbidden; needed is a Role there that allows get of this one, and create, as the"
            " shipped manifests grant it"
        )

    def test_a_server_that_is_away_is_asked_again(self) -> None:
        class Starting(MemoryApi):
            answers = iter([ApiError(503, "ServiceUnavailable", "the server is restarting")])

            async def read(self, *given: Any) -> Any:
                for error in self.answers:
                    raise error
                return await super().read(*given)

        api = Starting()
        run(key_store.authority(api, HOME))
        assert self.REFERENCE in api.store.objects


class TestInAFile:
    def test_only_its_owner_can_read_it(self, tmp_path: Path) -> None:
        path = tmp_path / "state" / "minicluster" / "keys.json"
        of_file(path)
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
        assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700

    def test_the_next_start_finds_the_same(self, tmp_path: Path) -> None:
        path = tmp_path / "keys.json"
        assert of_file(path).token(UID) == of_file(path).token(UID)
        assert [each.name for each in tmp_path.iterdir()] == ["keys.json"]

    def test_somebody_who_was_faster_is_not_overwritten(self, tmp_path: Path) -> None:
        path = tmp_path / "keys.json"
        first = of_file(path)
        key_store._write(path, json.dumps(LeadAuthority.make().files()))
        assert of_file(path).token(UID) == first.token(UID)

    @pytest.mark.parametrize(("changes", "why"), [*DAMAGED])
    def test_damaged(self, tmp_path: Path, changes: dict[str, str | None], why: str) -> None:
        path = tmp_path / "keys.json"
        key_store._write(path, json.dumps(damaged(changes)))
        with pytest.raises(LeadKeysError) as caught:
            of_file(path)
        assert str(caught.value).startswith(
            f"the operator's keys in {path}: {why}; remove the file: new ones"
        )

    def test_no_json(self, tmp_path: Path) -> None:
        path = tmp_path / "keys.json"
        key_store._write(path, "")
        with pytest.raises(LeadKeysError, match=r"ca\.crt is missing"):
            of_file(path)

    def test_others_can_read_it(self, tmp_path: Path) -> None:
        path = tmp_path / "keys.json"
        of_file(path)
        path.chmod(0o644)
        with pytest.raises(LeadKeysError) as caught:
            of_file(path)
        expected = f"{path}: others can read it; chmod 600 makes it private, or remove it"
        assert str(caught.value) == expected

    def test_it_cannot_be_written(self, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("")
        path = tmp_path / "file" / "keys.json"
        with pytest.raises(LeadKeysError) as caught:
            of_file(path)
        assert str(caught.value).endswith(
            "the operator keeps its keys there: set XDG_STATE_HOME to a directory of your own"
        )

    def test_the_directory_is_the_users(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
        assert key_store.directory() == tmp_path / "minicluster"
        monkeypatch.setenv("XDG_STATE_HOME", "relative")
        assert key_store.directory() == Path.home() / ".local" / "state" / "minicluster"
