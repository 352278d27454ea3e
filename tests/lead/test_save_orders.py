"""The order to start jobs again elsewhere, where the broker stops answering amid it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import pytest

from broker_config.formats.jobid import f58plain
from minicluster.broker_link.errors import Refused
from minicluster.lead_server import save_orders
from minicluster.lead_server.save_orders import SavingOrders
from minicluster.save_restore.errors import NotAnswering
from minicluster.save_restore.restarts import RestartOutcome
from minicluster.save_restore.state_files import StateFiles

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from minicluster.broker_link.link import BrokerLink
    from minicluster.lead_server.status_snapshot import StatusSnapshot

ANSWER = {"restarted": [[f58plain(5), f58plain(6)]], "lost": []}


class Link:
    def close(self) -> None:
        """Have nothing to close."""


class Snapshot:
    def request_sample(self) -> None:
        """Take none."""


@pytest.fixture
def orders(tmp_path: Path) -> SavingOrders:
    snapshot = cast("StatusSnapshot", Snapshot())
    return SavingOrders(snapshot, lambda: cast("BrokerLink", Link()), StateFiles(str(tmp_path)), "")


def test_copies_are_named_the_next_time(orders: SavingOrders, monkeypatch: pytest.MonkeyPatch) -> None:
    """They were made, and what they replace was canceled: nobody could tell otherwise what became of it."""

    def falls_silent(_jobs: Any, _ranks: Any, _why: str, copied: Callable[[Mapping[int, int]], None]) -> Any:
        copied({5: 6})
        raise NotAnswering("the broker does not answer")

    monkeypatch.setattr(save_orders, "_restart", falls_silent)
    with pytest.raises(Refused, match="the broker does not answer"):
        orders.restart({"ranks": "1"})
    monkeypatch.setattr(save_orders, "_restart", lambda *_: RestartOutcome([], []))
    assert orders.restart({"ranks": "1"}) == ANSWER
    assert orders.restart({"ranks": "2"}) == {"restarted": [], "lost": []}


def test_one_that_ended_after_all_is_not_named(orders: SavingOrders, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its copy was withdrawn: the outcome does not have it."""

    def withdraws(_jobs: Any, _ranks: Any, _why: str, copied: Callable[[Mapping[int, int]], None]) -> Any:
        copied({5: 6, 7: 8})
        return RestartOutcome([(5, 6)], [])

    monkeypatch.setattr(save_orders, "_restart", withdraws)
    assert orders.restart({"ranks": "1"}) == ANSWER
    assert orders.restart({"ranks": "1"}) == ANSWER


def test_on_a_full_disk_the_answer_has_them(
    orders: SavingOrders, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """It alone: there is no place for the note."""

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("minicluster.save_restore.state_files._Files._temporary", full)
    monkeypatch.setattr(save_orders, "_restart", lambda *_: RestartOutcome([(5, 6)], []))
    assert orders.restart({"ranks": "1"}) == ANSWER
    assert not (tmp_path / "restarted").exists()
