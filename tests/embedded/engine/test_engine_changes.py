"""The journal and listings have the same of each job, whatever happens to it."""

from __future__ import annotations

import contextlib
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from minicluster.embedded.errors import RpcError
from tests.budgets import examples
from tests.embedded.engine.journal_reader import JournalReader, listed

REQUESTS: tuple[dict[str, Any], ...] = (
    {},
    {"urgency": 0},
    {"slots": 3, "duration": 60},
    {"nodes": 2, "exclusive": True},
    {"nodes": 1, "slots": 2, "cores": 1, "job": {"name": "named"}},
    {"cores": 9},
    {"shell": {"options": {"per-resource": {"type": "core"}}}},
)
Deed = tuple[str, Any]


def deeds() -> st.SearchStrategy[Deed]:
    """What may happen to a job, or to all of them."""
    raised = st.tuples(st.sampled_from(("cancel", "mine")), st.sampled_from((0, 3)))
    return st.one_of(
        st.tuples(st.just("submit"), st.sampled_from(REQUESTS)),
        st.tuples(st.just("depend"), st.sampled_from(("afterok", "afterany", "afternotok"))),
        st.tuples(st.just("urgency"), st.sampled_from((0, 16, 31))),
        st.tuples(st.just("raise"), raised),
        st.tuples(st.just("end"), st.sampled_from((0, 256, 9))),
        st.tuples(st.just("time"), st.sampled_from((0.5, 40.0))),
    )


def do(bench: Any, jobid: int, deed: Deed) -> None:
    """Have it happen. Raises RpcError where the job is in no state for it."""
    kind, what = deed
    if kind == "submit":
        bench.submit(**what)
    elif kind == "depend":
        bench.submit(dependencies=[{"scheme": what, "value": str(jobid)}])
    elif kind == "urgency":
        bench.call("job-manager.urgency", id=jobid, urgency=what)
    elif kind == "raise":
        bench.call("job-manager.raise", id=jobid, type=what[0], severity=what[1])
    elif kind == "end" and jobid in bench.engine._manager.active and jobid in bench.running():
        bench.finish(jobid, what)
    elif kind == "time":
        bench.loop.advance(what)


@given(happening=st.lists(st.tuples(st.integers(0, 9), deeds()), max_size=12))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(15))
def test_the_journal_folds_to_what_listings_have(kit: Any, happening: list[tuple[int, Deed]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        bench = kit.Bench(Path(folder), config={"queue-policy": "easy"})
        reader = JournalReader(bench)
        bench.submit()
        for number, deed in happening:
            ids = list(bench.engine._manager.parts.store.jobs.ids())
            with contextlib.suppress(RpcError):
                do(bench, ids[number % len(ids)], deed)
            bench.loop.advance(0.25)
            assert reader.read() == listed(bench)
        assert JournalReader(bench).read_history() == listed(bench)
        bench.engine.close()


def test_a_restarted_lead_has_in_its_journal_what_its_listings_have(bench: Any) -> None:
    """Jobs that ran are lost with their processes; others wait on."""
    running, done = bench.submit(), bench.submit()
    bench.submit(urgency=0)
    bench.started(running)
    bench.finish(done)
    bench.loop.advance(1)
    bench.engine.close()
    bench.restart()
    reader = JournalReader(bench)
    assert reader.read_history() == listed(bench)
    bench.finish(running)
    assert reader.read() == listed(bench)
