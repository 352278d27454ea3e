"""Jobs submitted through cut connections to a service that dies: each is there once."""

from __future__ import annotations

from collections import Counter, deque
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING

from minicluster.client import Client
from minicluster.client.retries import RetryPolicy
from tests.devcluster.waiting import until
from tests.restful.faults.cutting_proxy import Cut, CuttingProxy, Part
from tests.restful.faults.forking_service import STEPS

if TYPE_CHECKING:
    from pathlib import Path

    from tests.restful.faults.service_process import MortalService

PATIENT = RetryPolicy(seconds=120.0, first=0.02, most=0.5)
SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class SubmitReport:
    """What became of the keys."""

    cuts: Counter[Part]
    deaths: Counter[str]
    runs: Counter[str]
    """How often each job has run, by its key: the ledger, which the jobs write themselves."""
    listed: Counter[str]
    """How often the service lists it."""


def submit_all(service: MortalService, ledger: Path, keys: int, seed: int = 5) -> SubmitReport:
    """Submit a job a key, each with a death of the service at the next step, and cuts at the next parts."""
    numbers, steps, parts, deaths = Random(seed), list(STEPS), list(Part), Counter[str]()
    with CuttingProxy(("127.0.0.1", service.port)) as proxy:
        for number in range(keys):
            step, name = steps[number % len(steps)], f"key-{number}"
            first = parts[number % len(parts)]
            chosen = [first, *numbers.choices(parts, k=numbers.randint(0, 2))]
            proxy.cuts = deque(Cut.by_chance(each, numbers) for each in chosen)
            service.die_at(step)
            command = ["sh", "-c", f"echo {name} >> {ledger}"]
            with Client(proxy.url, service.token, retry=PATIENT) as client:
                job = client.submit("mc", command, key=name, name=name)
                deaths[step] += service.died
                again = client.submit("mc", command, key=name, name=name)
                assert again.id == job.id, f"{name}: another job for the same key"
        with Client(proxy.url, service.token, retry=PATIENT) as client:
            until(lambda: all(job.ended for job in client.jobs("mc")), "the jobs' end", SECONDS, 0.2)
            listed = Counter(job.name for job in client.jobs("mc"))
        cuts = Counter(proxy.made)
    return SubmitReport(cuts, deaths, Counter(ledger.read_text().split()), listed)
