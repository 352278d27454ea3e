"""Burstable jobs as an instance of either engine has them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

import pytest

from broker_config.formats import resource_set
from burst.leads.layout import LeadLayout, of_resource_set
from burst.leads.payer_keys import PayerKeys
from burst.leads.waiting_jobs import WaitingJobs
from minicluster.instance.jobspec import jobspec
from minicluster.instance.records import JobRequest
from restful.jobs.seal import Seal, SealedRequest

if TYPE_CHECKING:
    from burst.planning.records import BurstableJob
    from minicluster.instance.port import Instance


def layout(instance: Instance) -> LeadLayout:
    found = resource_set.read(instance.links.rpc("resource.sched-status", {})["all"])
    return of_resource_set(found, ["burst-0"])


def submit(instance: Instance, **wishes: Any) -> int:
    return instance.jobs.submit(JobRequest(("true",), environment={"PATH": os.defpath}, cwd="/", **wishes))


def read(instance: Instance) -> dict[int, BurstableJob]:
    found = WaitingJobs(instance, layout(instance), "default").read()
    return {each.job.id: each.job for each in found}


def test_the_layout_of_an_instance(instance: Instance) -> None:
    found = layout(instance)
    assert [node.rank for node in found.own.nodes] == [0]
    assert (found.slots["burst-0"].first, found.slots["burst-0"].size) == (1, 1)


@pytest.mark.parametrize("wish", [True, 1, "far"])
def test_a_job_that_asks_for_it_is_found(instance: Instance, wish: Any) -> None:
    job = submit(instance, nodes=1, exclusive=True, duration=60.0, system={"burstable": wish})
    submit(instance, nodes=1)
    found = read(instance)
    assert found.keys() == {job}
    assert (found[job].wish, found[job].limit, found[job].user) == (wish, 60.0, str(os.getuid()))
    assert (found[job].fits_here, found[job].constrained, found[job].depends) == (True, False, False)
    assert found[job].request.nodes == 1


def test_what_keeps_it_from_bursting_is_known(instance: Instance) -> None:
    wish = {"burstable": True}
    on_hold = submit(instance, urgency=0, system=wish)
    waits = submit(instance, dependencies=(f"afterok:{on_hold}",), system=wish)
    bound = submit(instance, system={**wish, "constraints": {"ranks": ["0"]}})
    found = read(instance)
    assert found[on_hold].priority == 0
    assert found[waits].depends
    assert found[bound].constrained


def test_a_job_of_another_queue_is_left_alone(instance: Instance) -> None:
    submit(instance, queue="burst-0", system={"burstable": True})
    assert read(instance) == {}


def test_a_jobspec_is_read_once(instance: Instance, monkeypatch: pytest.MonkeyPatch) -> None:
    job = submit(instance, system={"burstable": True})
    reader = WaitingJobs(instance, layout(instance), "default")
    assert [each.job.id for each in reader.read()] == [job]

    def refuse(*_: object) -> None:
        raise AssertionError("it is read again")

    monkeypatch.setattr(type(instance.jobs), "jobspec", refuse)
    assert [each.job.id for each in reader.read()] == [job]
    instance.jobs.cancel(job)
    instance.jobs.wait(job, 30)
    assert reader.read() == []


def test_who_pays_is_the_user_of_the_restful_api_and_of_a_copy_the_account(instance: Instance) -> None:
    seal = Seal(b"k" * 32)
    request = JobRequest(
        ("true",), environment={"PATH": os.defpath}, cwd="/", urgency=0, system={"burstable": True}
    )
    stated = seal.marked(jobspec(request), SealedRequest("i", "01U", "01ROW"), "ada")
    forged = seal.marked(jobspec(request), SealedRequest("i", "01U", "01OTHER"), "bob")
    forged["attributes"]["user"]["minicluster"]["payer"] += "A"
    jobs = [instance.jobs.resubmit(spec, urgency=0) for spec in (stated, stated, forged)]
    reader = WaitingJobs(instance, layout(instance), "default", PayerKeys([seal.payer_key]))
    found = {each.job.id: each.job.user for each in reader.read()}
    account = str(os.getuid())
    assert [found[job] for job in jobs] == ["ada", account, account]
