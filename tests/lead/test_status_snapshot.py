"""The board: what readers and watches of the status get."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from minicluster.broker_link.errors import InstanceGone
from minicluster.lead_server import status_snapshot
from minicluster.lead_server.status_snapshot import StatusSnapshot

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

DEADLINE = 60.0


class Instance:
    """What is looked at: each look that is wanted is made at once, unless `answers` is false."""

    def __init__(self) -> None:
        self.snapshot = StatusSnapshot(self.wanted)
        self.state = 0
        self.answers = True

    def wanted(self) -> None:
        if self.answers:
            self.change(self.state)

    def change(self, state: int) -> None:
        self.state = state
        self.snapshot.begin()
        self.snapshot.publish({"state": state})


@pytest.fixture
def instance(monkeypatch: pytest.MonkeyPatch) -> Iterator[Instance]:
    monkeypatch.setattr(status_snapshot, "READ_TIMEOUT", 0.05)
    made = Instance()
    yield made
    made.snapshot.close()


def test_a_reader_gets_a_new_sample(instance: Instance) -> None:
    """Not what hung there before."""
    instance.change(1)
    instance.state = 2
    assert instance.snapshot.read() == {"state": 2}


def test_a_sample_that_began_before_is_not_new(monkeypatch: pytest.MonkeyPatch) -> None:
    """It may miss what the reader has just done."""
    wanted = threading.Event()
    hung = StatusSnapshot(wanted.set)
    read: list[object] = []
    hung.begin()
    reader = threading.Thread(target=lambda: read.append(hung.read()))
    reader.start()
    assert wanted.wait(DEADLINE)
    hung.publish({"state": "old"})
    hung.begin()
    hung.publish({"state": "new"})
    reader.join(DEADLINE)
    assert read == [{"state": "new"}]


def test_a_slow_instance(instance: Instance) -> None:
    """What hung there before has to do."""
    instance.change(1)
    instance.answers = False
    assert instance.snapshot.read() == {"state": 1}


def test_after_an_order_a_slow_instance_has_no_status(instance: Instance) -> None:
    """What hung there before, or comes from a look that began before, may not know of it."""
    instance.change(1)
    instance.answers = False
    instance.snapshot.begin()
    instance.snapshot.request_sample()
    assert instance.snapshot.read() is None
    instance.snapshot.publish({"state": "old"})
    assert instance.snapshot.read() is None
    with pytest.raises(InstanceGone, match="the broker has not answered yet"):
        instance.snapshot.watch()


def test_an_order_is_over_with_the_next_sample(instance: Instance) -> None:
    """Then a slow instance's newest status has to do again."""
    instance.answers = False
    instance.snapshot.request_sample()
    instance.change(2)
    assert instance.snapshot.read() == {"state": 2}


def test_a_watch_delivers_nothing_older_than_an_order(
    instance: Instance, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither as a change nor to keep it alive."""
    watch = instance.snapshot.watch()
    next(watch)
    instance.answers = False
    instance.snapshot.begin()
    instance.snapshot.request_sample()
    instance.snapshot.publish({"state": "old"})
    meanwhile = iter([lambda: None, lambda: instance.change(2)])

    def wait_for(condition: Callable[[], bool], _timeout: float) -> bool:
        next(meanwhile)()
        return condition()

    monkeypatch.setattr(instance.snapshot._condition, "wait_for", wait_for)
    assert next(watch) == {"state": 2}


def test_an_instance_that_never_answered(instance: Instance) -> None:
    """Has no status, and a watch is refused rather than empty."""
    instance.answers = False
    assert instance.snapshot.read() is None
    with pytest.raises(InstanceGone, match="the broker has not answered yet"):
        instance.snapshot.watch()


def test_a_watch_gets_changes(instance: Instance) -> None:
    """The status now, then each change."""
    watch = instance.snapshot.watch()
    assert next(watch) == {"state": 0}
    instance.change(1)
    assert next(watch) == {"state": 1}


def test_a_watch_skips_what_is_over(instance: Instance) -> None:
    """Ten changes within the spacing are one."""
    watch = instance.snapshot.watch()
    next(watch)
    for state in range(1, 11):
        instance.change(state)
    assert next(watch) == {"state": 10}


def test_a_watch_is_kept_alive(instance: Instance, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without a change the status comes again."""
    monkeypatch.setattr(status_snapshot, "KEEPALIVE", 0.01)
    watch = instance.snapshot.watch()
    assert [next(watch) for _ in range(3)] == [{"state": 0}] * 3


@pytest.mark.parametrize("end", ["close", "clear"])
def test_a_watch_ends(instance: Instance, end: str) -> None:
    """With the door, or with the link to the broker."""
    watch = instance.snapshot.watch()
    next(watch)
    getattr(instance.snapshot, end)()
    assert list(watch) == []


def test_it_is_known_whether_anybody_watches(instance: Instance) -> None:
    """Then there are more looks."""
    assert not instance.snapshot.watched
    watch = instance.snapshot.watch()
    next(watch)
    assert instance.snapshot.watched
    watch.close()
    assert not instance.snapshot.watched
