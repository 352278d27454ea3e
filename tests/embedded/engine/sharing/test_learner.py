"""cosched in the engine: it shares, remembers, takes cores back, and begins anew with other experts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from queue_policies import decision_log
from queue_policies.cosched.cosched import Cosched
from queue_policies.cosched.trees import Expert, written

if TYPE_CHECKING:
    from collections.abc import Callable

HALF = written([Expert("half", (0.0, 0.0, 1.0, 0.0))])
NEVER = written([Expert("never", (1.0, 0.0, 0.0, 0.0))])
OTHERS = written([Expert("half", (0.0, 0.0, 1.0, 0.0)), Expert("never", (1.0, 0.0, 0.0, 0.0))])


def config(experts: str, **others: Any) -> dict[str, Any]:
    return {
        "minicluster": {
            "queue-policy": "cosched",
            "scheduler-settings": {"experts": experts, "guard": 0.0},
            **others,
        }
    }


def shared(bench: Any) -> tuple[int, int]:
    """Run a program alone for 10 s; then it has a guest."""

    def busy(job: int, seconds: int) -> None:
        for _ in range(seconds):
            bench.loop.advance(1)
            bench.engine.events.used(job, 0, 1.0, 1.6, 0.1)
            bench.loop.turn()

    first = bench.submit("sim", slots=4)
    busy(first, 10)
    bench.finish(first)
    host, guest = bench.submit("sim", slots=4), bench.submit(slots=2)
    busy(host, 2)
    return host, guest


def of_sharing(bench: Any, job: int) -> Any:
    found = bench.shown(job)["annotations"]["sharing"]
    return found["guests"] or found["host"], found["quota"]


def test_cores_are_taken_back_from_a_guest_whose_host_suffers(
    make: Callable[..., Any], tmp_path: Any
) -> None:
    """Alone the host uses 1.6 of its 4 cores, and could with half of them; it uses 0.8."""
    file = tmp_path / "decisions"
    bench = make(config=config(HALF, decisions=str(file)))
    host, guest = shared(bench)
    before = of_sharing(bench, host), of_sharing(bench, guest)
    for _ in range(5):
        bench.engine.events.used(host, 0, 1.0, 0.8, 0.1)
        bench.loop.turn()
    after = of_sharing(bench, host), of_sharing(bench, guest)
    assert before == (([guest], 0.5), (host, 0.5))
    assert after == (([guest], 0.75), (host, 0.25))
    bench.finish(guest)
    assert of_sharing(bench, host) == (None, 1.0)
    assert (
        list(decision_log.differences(Cosched(experts=HALF, guard=0.0), file.read_text().splitlines())) == []
    )


def test_with_another_number_of_experts_it_begins_anew_and_that_is_logged_once(
    make: Callable[..., Any],
) -> None:
    bench = make(config=config(HALF))
    shared(bench)
    bench.restart()
    before = list(bench.logged)
    bench._options["config"] = config(OTHERS)
    for _ in range(2):
        bench.restart()
        bench.submit()
    noted = [text for text in bench.logged if "remembered" in text]
    assert [text for text in before if "remembered" in text] == []
    assert noted == [
        "what cosched remembered is of 1 experts, and there are 2; it begins to learn anew",
    ]


def test_jobs_that_were_submitted_together_know_what_the_first_one_used(make: Callable[..., Any]) -> None:
    """One runs, another begins beside it, and a third one waits, as nothing is known of their program."""
    bench = make(config=config(NEVER))
    first, second, third = (bench.submit("sim", slots=2) for _ in range(3))
    for _ in range(4):
        bench.loop.advance(1)
        bench.engine.events.used(first, 0, 1.0, 0.8, 0.1)
    scheduler = bench.engine._manager.parts.scheduler
    before = scheduler.queue[third]
    fourth = bench.submit("sim", slots=2)
    bench.finish(first)
    bench.engine.events.used(second, 0, 4.0, 1.6, 0.1)
    begun, waits = scheduler.running[second], scheduler.queue[fourth]
    assert (before.usage, before.estimate) == (None, None)
    assert (begun.estimate.seconds(2), begun.remaining) == (4.0, 0.5)
    assert (waits.usage.cpu, waits.estimate.seconds(2)) == (0.4, 4.0)
