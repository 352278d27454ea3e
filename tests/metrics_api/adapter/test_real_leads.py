"""The adapter reads what a real lead's door tells: the embedded instance's, and real Flux's where it is."""

import asyncio
import time
from collections.abc import Callable
from typing import Any

from metrics_api.adapter.evaluation import Evaluation
from metrics_api.adapter.leads import Leads
from metrics_api.adapter.objects import Objects
from metrics_api.answers import queries
from metrics_api.answers.errors import UnavailableError
from metrics_api.names import ADDS
from minicluster.kube_client.objects import Name
from minicluster.lead_client.keys import LeadAuthority
from minicluster.lead_client.purpose_keys import METRICS
from tests.lead.conftest import engine, flux, lay_out, pods
from tests.lead.pods import Pods
from tests.metrics_api.adapter.scene import cluster, pod

__all__ = ["engine", "flux", "lay_out", "pods"]  # fixtures

NAME = Name("team", "mc")
UID = "uid-team-mc"
V2 = "/apis/custom.metrics.k8s.io/v1beta2/namespaces/team/miniclusters.flux-framework.org/mc/{}"
SECONDS = 240.0


def with_keys(lead: Pods, authority: LeadAuthority) -> Pods:
    """Give a lead the keys that the operator would."""
    keys = authority.issue(UID)
    files = {
        "door.crt": keys.certificate,
        "door.key": keys.key,
        "door.token": keys.token,
        "metrics.token": keys.metrics_token,
    }
    for name, text in files.items():
        (lead.secret / name).write_text(text)
    return lead


def objects() -> Objects:
    """Return what the watches tell of a MiniCluster on this machine."""
    found = Objects()
    found.see("MiniCluster", cluster("mc"))
    item = pod("mc", 0)
    item["status"]["podIP"] = "127.0.0.1"
    found.see("Pod", item)
    return found


async def value(asked: Evaluation, metric: str) -> str | None:
    """Return a value, None while the lead is not heard or has none."""
    try:
        answer: dict[str, Any] = await asked.answer(queries.parse(V2.format(metric), {}))
    except UnavailableError:
        return None
    return str(answer["items"][0]["value"])


def test_what_waits_on_a_real_lead_is_what_is_answered(pods: Callable[..., Pods]) -> None:
    """And each of its metrics is one that is served."""
    authority = LeadAuthority.make()
    lead = with_keys(pods(1, max_size=4), authority).start(0)

    async def work() -> None:
        leads = Leads(lead.lead_api.port)
        await leads.use(authority.purpose(METRICS))
        known = objects()
        lead_of_it = known.lead(NAME)
        assert lead_of_it is not None
        asked = Evaluation(known, leads)
        await until(asked, "flux_nodes_demanded", "1")
        for _ in range(3):
            await asyncio.to_thread(lead.run, "submit", "-N1", "--exclusive", "sleep", "inf")
        await until(asked, "flux_nodes_demanded", "3")
        answer = await leads.ask(NAME, lead_of_it)
        assert {each.name for each in answer.reading.samples} <= set(ADDS)
        await leads.close()

    asyncio.run(work())


async def until(asked: Evaluation, metric: str, wanted: str) -> None:
    """Wait for a value."""
    end, found = time.monotonic() + SECONDS, None
    while found != wanted:
        assert time.monotonic() < end, f"{metric} is {found}, not {wanted}"
        await asyncio.sleep(0.1)
        found = await value(asked, metric)
