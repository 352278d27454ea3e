"""The journal and listings have the same of an elastic job, whatever becomes of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.embedded.engine.journal_reader import JournalReader, listed

if TYPE_CHECKING:
    from tests.embedded.engine.malleable.elastic_cluster import Cluster
    from tests.embedded.engine.programs import Program


def test_a_job_that_is_resized_has_the_same_size_in_journal_and_listings(
    whole: tuple[Cluster, int, Program],
) -> None:
    cluster, job, program = whole
    reader = JournalReader(cluster.bench)
    reader.read_history()
    cluster.bench.submit(slots=2, urgency=20)
    assert reader.read() == listed(cluster.bench)
    program.send_message("release", order=1, workers=[2, 3])
    program.end(2, 3)
    assert (reader.read()[job].ntasks, reader.found[job].nodelist) == (2, "mc-0")
    assert reader.found == listed(cluster.bench)
    assert JournalReader(cluster.bench).read_history() == listed(cluster.bench)


def test_an_elastic_job_that_waits_has_the_size_of_its_fewest_workers(
    whole: tuple[Cluster, int, Program],
) -> None:
    cluster, _, _ = whole
    reader = JournalReader(cluster.bench)
    reader.read_history()
    waits = cluster.bench.submit(slots=4, urgency=0)
    assert (reader.read()[waits].ncores, reader.found) == (4, listed(cluster.bench))
