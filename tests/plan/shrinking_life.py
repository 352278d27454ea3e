"""A MiniCluster of four whose plans are applied while it shrinks."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from broker_config import curve
from minicluster import document as spec
from minicluster.plan import (
    BrokerReport,
    FreshKeys,
    JobReport,
    LeadCommand,
    LeadKeys,
    ObjectKey,
    Observed,
    ObservedObject,
    Plan,
    PodReport,
    RestartReport,
    Site,
    plan,
)
from tests.plan.conftest import NOW, UID

SITE = Site(lead_api=True)
KEYS = FreshKeys(curve.generate(), LeadKeys("certificate", "key", "token", "metrics token"))
LEAD = PodReport(0, "Running", scheduled=True)
ALL = BrokerReport("0-3", running=True)
DRAIN = LeadCommand("drain", "2-3", "minicluster: shrinking to 2")
UNTIL = "2026-03-14T15:10:26Z"


def document(size: int, status: Any = None, generation: int = 1, **wanted: Any) -> spec.MiniCluster:
    about = {"name": "hpc", "namespace": "science", "uid": UID, "generation": generation}
    whole = {"size": size, "maxSize": 8, "containers": [{"image": "app", "command": "hostname"}], **wanted}
    return spec.validate(
        {
            "apiVersion": spec.API_VERSION,
            "kind": spec.KIND,
            "metadata": about,
            "spec": whole,
            "status": status or {"size": 4},
        }
    )


class Life:
    """A MiniCluster whose plans are applied, one after the other."""

    def __init__(self, pods: int = 4, report: BrokerReport | None = ALL, **wanted: Any) -> None:
        self.pods, self.report, self.wanted = pods, report, wanted
        self.unreachable_reason = ""
        self.restarted: RestartReport | None = None
        self.lead = LEAD
        self.others: tuple[PodReport, ...] = ()
        self.active = 0  # as many as there are to be
        self.status: dict[str, Any] = {"size": pods}
        self.generation = 0
        self.size = pods

    def resize(self, size: int, now: datetime = NOW) -> Plan:
        """Have the document ask for another size, and reconcile."""
        self.size, self.generation = size, self.generation + 1
        return self.reconcile(now)

    def reconcile(self, now: datetime = NOW) -> Plan:
        """Plan and apply, twice if the first plan is due again at once; return the last, with all Events."""
        decided = self.step(now)
        if decided.again != 0:
            return decided
        second = self.step(now)
        return replace(second, events=decided.events + second.events)

    def step(self, now: datetime = NOW) -> Plan:
        """Plan, and apply the plan to the API server; commands for the lead are not sent."""
        cluster = document(self.size, self.status, self.generation, **self.wanted)
        job = JobReport(self.pods, active=self.active or self.pods)
        made = plan(cluster, Observed(), SITE, KEYS, now).objects
        keys = (ObjectKey(each["kind"], each["metadata"]["name"]) for each in made)
        objects = tuple(ObservedObject(key, UID) for key in keys)
        pods = (self.lead, *self.others)
        observed = Observed(
            objects, job, pods, self.report, self.unreachable_reason, restarted=self.restarted
        )
        decided = plan(cluster, observed, SITE, None, now)
        (self.job,) = (each for each in decided.objects if each["kind"] == "Job")
        self.pods = self.job["spec"]["parallelism"]
        assert self.job["spec"]["completions"] == self.pods
        self.status = decided.status
        return decided

    @property
    def resizing(self) -> tuple[str, str]:
        """The condition's reason and message."""
        (found,) = (each for each in self.status["conditions"] if each["type"] == "Resizing")
        return found["reason"], found["message"]


def after(seconds: float) -> datetime:
    return NOW + timedelta(seconds=seconds)
