"""Submits through cut connections to a service that dies: 200 keys, each job once."""

from __future__ import annotations

from collections import Counter

from tests.restful.faults import service_process
from tests.restful.faults.cutting_proxy import Part
from tests.restful.faults.forking_service import STEPS
from tests.restful.faults.proof import Proof, instance
from tests.restful.faults.submits import submit_all

KEYS = 200


def main() -> None:
    """Prove it, and print figures."""
    proof = Proof()
    with instance() as laboratory:
        folder = laboratory.folder / "service"
        folder.mkdir()
        with service_process.running(folder, laboratory.uri) as service:
            found = submit_all(service, folder / "ledger", KEYS)
    once = Counter(f"key-{number}" for number in range(KEYS))
    cuts, deaths = found.cuts.total(), found.deaths.total()
    proof.fact(f"{KEYS} keys, {cuts} cut connections, {deaths} killed services", holds=True)
    proof.fact(f"each part of an exchange was cut ({len(found.cuts)})", holds=set(found.cuts) == set(Part))
    proof.fact(
        f"the service died at each step ({len(+found.deaths)})", holds=set(+found.deaths) == set(STEPS)
    )
    proof.fact(f"each job has run once ({found.runs.total()})", holds=found.runs == once)
    proof.fact(f"each job is listed once ({found.listed.total()})", holds=found.listed == once)
    proof.end()


if __name__ == "__main__":
    main()
