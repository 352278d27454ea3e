"""The adapter's certificate and its authority are made, kept and replaced by itself."""

import asyncio
import ssl
from base64 import b64encode
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from metrics_api.adapter import authority_store
from metrics_api.adapter.certificates import AdapterAuthority, Lives
from minicluster.kube_client.errors import ApiError

NOW = datetime.now(UTC)
HOST = "adapter.system.svc"
DAY = timedelta(days=1)


class Secrets:
    """An API server with at most one Secret; somebody else may be faster."""

    def __init__(self, *found: dict[str, Any] | None) -> None:
        self.found = list(found)  # what each read finds; the last one stays
        self.written: list[dict[str, Any]] = []
        self.conflicts = 0

    async def read(self, *_: Any) -> dict[str, Any]:
        item = self.found.pop(0) if len(self.found) > 1 else self.found[0]
        if item is None:
            raise ApiError(404, "NotFound", "there is none")
        return item

    async def create(self, item: dict[str, Any]) -> dict[str, Any]:
        return self._write(item)

    async def replace(self, item: dict[str, Any]) -> dict[str, Any]:
        assert item["metadata"]["resourceVersion"] == "7"
        return self._write(item)

    def _write(self, item: dict[str, Any]) -> dict[str, Any]:
        if self.conflicts:
            self.conflicts -= 1
            raise ApiError(409, "Conflict", "somebody was faster")
        self.written.append(item)
        return item


def stored(authority: AdapterAuthority, **changes: str) -> dict[str, Any]:
    """Return the Secret with an authority."""
    files = {**authority.files(), **{name.replace("_", "."): text for name, text in changes.items()}}
    return {
        "metadata": {"resourceVersion": "7"},
        "data": {name: b64encode(text.encode()).decode() for name, text in files.items()},
    }


def kept(api: Secrets, now: datetime = NOW) -> AdapterAuthority:
    """Return the authority that an adapter goes on with."""
    return asyncio.run(authority_store.authority(api, "system", now))


def shakes_hands(server: AdapterAuthority, trusted: str, host: str = HOST) -> None:
    """Connect to a server with a certificate of an authority."""
    ours, theirs = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    server.issue([HOST], NOW).load(ours)
    theirs.load_verify_locations(cadata=trusted)
    there, back = ssl.MemoryBIO(), ssl.MemoryBIO()
    client = theirs.wrap_bio(back, there, server_hostname=host)
    other = ours.wrap_bio(there, back, server_side=True)
    for _ in range(4):
        for end in (client, other):
            try:
                end.do_handshake()
            except ssl.SSLWantReadError:
                continue


def test_the_certificate_is_trusted_for_its_host_alone() -> None:
    authority = AdapterAuthority.make(NOW)
    shakes_hands(authority, authority.bundle)
    with pytest.raises(ssl.SSLCertVerificationError):
        shakes_hands(authority, authority.bundle, "other.system.svc")
    with pytest.raises(ssl.SSLCertVerificationError):
        shakes_hands(AdapterAuthority.make(NOW), authority.bundle)


def test_both_authorities_are_trusted_after_a_change() -> None:
    former = AdapterAuthority.make(NOW)
    authority = AdapterAuthority.make(NOW, former=former)
    shakes_hands(former, authority.bundle)
    shakes_hands(authority, authority.bundle)


@pytest.mark.parametrize(("days", "is_due"), [(0, False), (39, False), (41, True), (90, True)])
def test_a_certificate_is_replaced_when_a_third_of_its_life_is_left(days: int, is_due: bool) -> None:
    serving = AdapterAuthority.make(NOW).issue([HOST], NOW, Lives(serving=60 * DAY))
    assert serving.is_due(NOW + days * DAY) is is_due


def test_no_certificate_outlives_its_authority() -> None:
    authority = AdapterAuthority.make(NOW, Lives(authority=DAY))
    assert authority.issue([HOST], NOW).end <= NOW + DAY


def test_whose_a_certificate_is() -> None:
    one, other = AdapterAuthority.make(NOW), AdapterAuthority.make(NOW)
    assert one.has_signed(one.issue([HOST], NOW))
    assert not other.has_signed(one.issue([HOST], NOW))


def test_keys_do_not_show() -> None:
    authority = AdapterAuthority.make(NOW)
    shown = repr(authority) + repr(authority.issue([HOST], NOW))
    assert "PRIVATE" not in shown


def test_an_authority_is_made_where_there_is_none() -> None:
    api = Secrets(None)
    found = kept(api)
    [written] = api.written
    assert written["metadata"]["name"] == "minicluster-metrics-serving"
    assert kept(Secrets({**written, "metadata": {"resourceVersion": "7"}})).bundle == found.bundle


def test_the_one_that_is_there_is_taken() -> None:
    there = AdapterAuthority.make(NOW)
    api = Secrets(stored(there))
    assert kept(api).files() == there.files()
    assert api.written == []


@pytest.mark.parametrize(
    "damage",
    [{"ca_crt": ""}, {"ca_key": "nonsense"}, {"former_crt": "nonsense"}],
    ids=lambda damage: next(iter(damage)),
)
def test_a_damaged_one_is_replaced(damage: dict[str, str]) -> None:
    api = Secrets(stored(AdapterAuthority.make(NOW), **damage))
    assert kept(api).former == ""
    assert len(api.written) == 1


def test_one_with_another_ones_key_is_replaced() -> None:
    api = Secrets(stored(AdapterAuthority.make(NOW), ca_key=AdapterAuthority.make(NOW).files()["ca.key"]))
    kept(api)
    assert len(api.written) == 1


def test_one_that_draws_to_its_end_is_replaced_and_trusted_beside_the_next() -> None:
    former = AdapterAuthority.make(NOW)
    api = Secrets(stored(former))
    found = kept(api, NOW + 600 * DAY)
    assert found.bundle == found.files()["ca.crt"] + former.files()["ca.crt"]
    assert len(api.written) == 1


@pytest.mark.parametrize("before", [None, "due"], ids=["none", "due"])
def test_who_comes_second_takes_what_the_first_made(before: str | None) -> None:
    there = AdapterAuthority.make(NOW)
    old = stored(AdapterAuthority.make(NOW - 700 * DAY)) if before else None
    api = Secrets(old, stored(there))
    api.conflicts = 1
    assert kept(api).files() == there.files()
    assert api.written == []


def test_what_is_refused_is_not_tried_for_ever() -> None:
    class Refusing(Secrets):
        async def create(self, item: dict[str, Any]) -> dict[str, Any]:
            raise ApiError(403, "Forbidden", "no")

    with pytest.raises(ApiError):
        kept(Refusing(None))
