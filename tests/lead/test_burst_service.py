"""What a real lead gives a service that manages its bursts, and to whom else not."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from broker_config.settings import BurstingSettings
from minicluster.lead_client.errors import LeadError, LeadTokenError
from minicluster.lead_client.instances import open_instance, read_curve_certificate
from minicluster.lead_client.purpose_keys import BURST, JOBS, PurposeKeys
from minicluster.lead_server.purposes import CURVE_CERTIFICATE
from tests.lead.keys import NAME

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.lead.pods import Pods

UID, HOST = NAME.partition(".")[0], "127.0.0.1"


def begun(cluster: Pods) -> dict[str, PurposeKeys]:
    """Start a lead that has a token for each purpose; return the keys for them."""
    authority = cluster.lead_api.authority
    keys = {each: PurposeKeys(each, authority, each[:1].encode() * 32) for each in (BURST, JOBS)}
    tokens = cluster.directory / "tokens"
    tokens.mkdir()
    for name, each in keys.items():
        (tokens / f"{name}.token").write_text(each.token(UID))
    cluster.start(0).lead_api.status()
    return keys


def read(cluster: Pods, *keys: PurposeKeys) -> str:
    return read_curve_certificate(UID, HOST, keys, port=cluster.lead_api.port)


def test_a_service_gets_the_certificate_and_uses_the_instance(pods: Callable[..., Pods]) -> None:
    """With former keys as well, as long as the lead has those."""
    cluster = pods(1, bursting=BurstingSettings(managed=True, gives_certificate=True))
    keys = begun(cluster)
    new = PurposeKeys(BURST, cluster.lead_api.authority, b"n" * 32)
    assert read(cluster, new, keys[BURST]) == Path(cluster.settings.curve_path).read_text()
    with open_instance(UID, HOST, (keys[BURST],), port=cluster.lead_api.port) as instance:
        assert [each.started for each in instance.queues.all()] == [True]
    for refused in (keys[JOBS], new):
        with pytest.raises(LeadTokenError, match=f"does not accept the token for {refused.purpose}"):
            read(cluster, refused)
    assert cluster.lead_api.ask("GET", CURVE_CERTIFICATE) == (403, {"error": "needed is a token for burst"})


def test_others_give_nothing_to_a_service_for_bursts(pods: Callable[..., Pods]) -> None:
    cluster = pods(1)
    keys = begun(cluster)
    with pytest.raises(LeadError) as caught:
        read(cluster, keys[BURST])
    assert str(caught.value) == (
        f"the lead API at {HOST}:{cluster.lead_api.port} does not give its CURVE certificate: its brokers"
        " were begun without spec.bursting, or by an older release; `kubectl delete job NAME` begins them"
        " anew"
    )
    with pytest.raises(LeadTokenError, match=r"refuses the token: needed is a token for jobs$"):
        open_instance(UID, HOST, (keys[BURST],), port=cluster.lead_api.port)


def test_a_certificate_that_is_gone_is_reported(pods: Callable[..., Pods]) -> None:
    cluster = pods(1, bursting=BurstingSettings(managed=True, gives_certificate=True))
    keys = begun(cluster)
    path = Path(cluster.settings.curve_path)
    path.unlink()
    with pytest.raises(LeadError, match=f"503: .*cannot read the certificate {path}: No such file"):
        read(cluster, keys[BURST])
