"""When the service in a cluster is ready, and when it hangs."""

from __future__ import annotations

import pytest

from burst.kubernetes.readiness import HUNG_SECONDS, ServiceStanding, not_live, not_ready

NOW = 1_000_000.0
WORKS = ServiceStanding(NOW - 500, leads=True, holder="me", ledger_read=NOW - 3, ended=NOW - 1, done=NOW - 1)
STANDS_BY = ServiceStanding(NOW - 5000, leads=False, holder="other")


@pytest.mark.parametrize(
    ("standing", "why"),
    [
        pytest.param(WORKS, "", id="works"),
        pytest.param(STANDS_BY, "", id="stands by"),
        pytest.param(STANDS_BY._replace(holder=""), "no Lease was seen yet", id="no Lease"),
        pytest.param(STANDS_BY._replace(lease_trouble="cannot get it"), "cannot get it", id="no right"),
        pytest.param(WORKS._replace(ledger_read=None), "the ledger was not read yet", id="begins"),
        pytest.param(
            WORKS._replace(ledger_read=NOW - 31), "the ledger cannot be read now", id="without a ledger"
        ),
        pytest.param(WORKS._replace(done=None), "bursts were not looked at yet", id="first look"),
        pytest.param(
            WORKS._replace(done=None, trouble="MiniClusters cannot be listed now"),
            "MiniClusters cannot be listed now",
            id="first look fails",
        ),
        pytest.param(
            WORKS._replace(done=NOW - 121), "bursts were looked at 121 s ago the last time", id="slow"
        ),
        pytest.param(WORKS._replace(done=NOW - 121, trouble="x"), "x", id="fails for long"),
        pytest.param(WORKS._replace(done=NOW - 100, trouble="x"), "", id="fails since a moment"),
    ],
)
def test_ready(standing: ServiceStanding, why: str) -> None:
    assert not_ready(standing, NOW) == why


@pytest.mark.parametrize(
    ("standing", "lives"),
    [
        pytest.param(WORKS, True, id="works"),
        pytest.param(STANDS_BY, True, id="stands by"),
        pytest.param(WORKS._replace(ended=NOW - HUNG_SECONDS - 1), False, id="hangs"),
        pytest.param(WORKS._replace(ended=None), True, id="begins"),
        pytest.param(WORKS._replace(ended=None, begun=NOW - HUNG_SECONDS - 1), False, id="never begins"),
        pytest.param(WORKS._replace(done=None, trouble="x"), True, id="fails"),
    ],
)
def test_live(standing: ServiceStanding, *, lives: bool) -> None:
    assert (not_live(standing, NOW) == "") is lives
