# ruff: noqa: PLC0415 - each function imports what it stands for: one that moved breaks nothing else
"""Everything that these tests take from the inside of the project, each behind a small function.

A commit that moves a module changes this file, and no test beside it.
"""

from __future__ import annotations

import base64
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Coroutine

JSON = dict[str, Any]
Pairs = tuple[tuple[str, str], ...]
ROOT = Path(__file__).parents[2]
DATA = Path(__file__).parent / "data"
ZIPS = ("flux_modules.zip", "flux_scheduler.zip")
UID = "8c8a2f4e-6b0f-4f3a-9d53-0f6f2a1c7b11"
PORT, LEAD_API_PORT = 58050, 58443
"""In the rendered files of pods: replaced by ports of the machine on which they run."""
CURVE, TOKEN = (
    ("GcAZ%tY^i!.h)ILy8#5WeAOosL[Kt5-8vB9GEwJf", "(0]n.Tve{oPaCZT?JQ9(6ZdnfaP&]mdUxeQgoan<"),
    "t" * 64,
)
"""Keys that open nothing: a CURVE pair, a token."""


# Documents and objects


def cluster(text: str, **metadata: Any) -> Any:
    """Return the MiniCluster of a document's text, as an API server would have it."""
    import yaml

    from minicluster import document as spec

    found = [each for each in yaml.safe_load_all(text) if each["kind"] == spec.KIND]
    (document,) = found
    about = {"namespace": "science", "uid": UID, "generation": 1, **document["metadata"], **metadata}
    return spec.validate({**document, "metadata": about})


def planned(text: str, **site: Any) -> list[JSON]:
    """Return all objects of a document as a new MiniCluster gets them, with the fixed keys."""
    from datetime import UTC, datetime

    from broker_config.curve import KeyPair
    from minicluster.plan import FreshKeys, LeadKeys, Observed, Site, plan

    keys = FreshKeys(KeyPair(*CURVE), LeadKeys("certificate", "key", TOKEN, TOKEN[::-1]))
    where = Site(**{"namespace": "science", "lead_api": True, **site})
    return list(plan(cluster(text), Observed(), where, keys, datetime(2026, 3, 14, tzinfo=UTC)).objects)


def to_yaml(items: list[JSON]) -> str:
    """Return objects as `minicluster render` prints them."""
    from minicluster.plan import to_yaml as written

    return written(items)


def pod_files(text: str) -> dict[str, bytes]:
    """Return what pods find in their ConfigMap; `/@run@` and the like stand for what differs between pods."""
    from broker_config.settings import BrokerEndpoint

    lead = f"tcp://127.0.0.1:{PORT}"
    where = {
        "endpoints": (BrokerEndpoint("mc-0", lead, lead),),
        "config_dir": "/@config@",
        "curve_dir": "/@secret@",
        "curve_path": "/@run@/curve.cert",
        "lead_api_port": LEAD_API_PORT,
    }
    (found,) = (each for each in planned(text, **where) if each["kind"] == "ConfigMap")
    packed = {name: base64.b64decode(data) for name, data in found.get("binaryData", {}).items()}
    return {name: data.encode() for name, data in found["data"].items()} | packed


def curve_certificate() -> str:
    """Return a new certificate for brokers."""
    from broker_config import curve

    return curve.render("mc", curve.generate())


# Processes


def flux_program(directory: Path) -> Path:
    """Make the embedded instance's `flux`, and return its folder."""
    from minicluster.embedded.broker.launcher import write_bin

    return write_bin(directory).parent


def lead_files(directory: Path) -> Any:
    """Write certificate, key and tokens for a lead's server; return the authority, the token and the name."""
    from tests.lead.keys import NAME, Authority

    authority = Authority()
    return authority.certificate, authority.write(directory), NAME


def free_port() -> int:
    """Return a port that no other test gets."""
    from tests.ports import free_port as found

    return found()


def lead_client(port: int, authority: str, token: str) -> Any:
    """Return a client of a lead's server, with `ask(method, path, body)`."""
    from tests.lead.client import Client

    return Client(port, authority, token)


def program() -> list[str]:
    """Return how `minicluster` is run: by its console script's entry point."""
    code = (
        "import sys; from importlib.metadata import entry_points; sys.argv[0] = 'minicluster';"
        "(found,) = entry_points(group='console_scripts', name='minicluster'); found.load()()"
    )
    return [sys.executable, "-P", "-c", code]


# The operator, over an API server in memory


def in_virtual_time(work: Coroutine[Any, Any, Any]) -> Any:
    """Run a coroutine to its end, in no time."""
    from tests.operator.virtual_time import run

    return run(work)


def world() -> Any:
    """Return a world of one operator, a context manager; its MiniCluster is `mc` in `science`."""
    from tests.operator.world import world as made

    return made()


def archived(here: Any, text: JSON | None = None) -> Any:
    """Return the steps for a world's MiniCluster with an archive; `text` changes its spec."""
    from tests.operator.archived import Instance

    here.store.history.listeners.append(lambda: _admit_services(here))
    made = Instance(here)
    for key, value in (text or {}).items():
        made.written["spec"][key] = value
        if value is None:
            del made.written["spec"][key]
    return made


def _admit_services(here: Any) -> None:
    """Give the pod of services, which no Job has made, a status."""
    from minicluster.kube_client.objects import ObjectReference

    for each in here.store.find("Pod"):
        if "status" not in each:
            reference = ObjectReference("Pod", each["metadata"]["namespace"], each["metadata"]["name"])
            if each["metadata"]["ownerReferences"][0]["kind"] != "Job":
                here.store.patch(reference, {"status": {"phase": "Pending"}}, "kubelet", "status")


def clock() -> float:
    """Return the virtual time."""
    from tests.operator.virtual_time import now

    return now()


def lose_pod(here: Any, index: int, *, disrupted: bool) -> None:
    """Delete a broker's pod as with its node; `disrupted`: its condition shows that Kubernetes did it."""
    from minicluster.kube_client.objects import ObjectReference
    from tests.operator import memory_jobs

    pods = memory_jobs.pods(here.store, here.store.objects[ObjectReference("Job", "science", "mc")])
    pod = next(each for each in pods if memory_jobs.index_of(each) == index)
    reference = ObjectReference("Pod", pod["metadata"]["namespace"], pod["metadata"]["name"])
    if disrupted:
        at = here.store.clock.text()
        condition = {"type": "DisruptionTarget", "status": "True", "lastTransitionTime": at}
        here.store.patch(
            reference, {"status": {"startTime": at, "conditions": [condition]}}, "kubelet", "status"
        )
        deliver(here)
    here.store.delete(reference)


def deliver(here: Any) -> None:
    """Deliver all changes to the operator."""
    from tests.operator.cases import deliver_all

    deliver_all(here)


def recover_jobs(
    here: Any, restarted: tuple[tuple[str, str], ...], lost: tuple[tuple[str, str], ...]
) -> None:
    """Let the lead answer a command to recover the jobs of a lost node like this."""
    from minicluster.plan import RestartReport
    from tests.operator.memory_lead import Lead

    class Recovering(Lead):
        def order(self, orders: Any) -> Any:
            answer = super().order(orders)
            found = (RestartReport(each, restarted, lost) for each in orders if each.action == "recover")
            return next(found, answer)

    here.lead = Recovering(here.store)


def saved_world(here: Any) -> JSON:
    """Return what outlives an operator: the API server's objects, the lead's instance, the clocks.

    It has 0.1.0's names, and 0.1.0's own `restored_world` takes it.
    """
    from dataclasses import asdict

    store, lead = here.store, here.lead
    saving = asdict(lead.saving) if lead.saving else None
    if saving is not None:
        saving["told"] = saving.pop("reported_at")
        saving["since"] = saving["since"].isoformat() if saving["since"] else None
    return {
        "clock": clock(),
        "time": store.clock.now.isoformat(),
        "version": store.history.version,
        "uids": store._uids,
        "lead": {
            "busy": sorted(lead.busy),
            "drained": {str(rank): why for rank, why in lead.drained.items()},
            "since": {str(rank): at for rank, at in lead.since.items()},
            "saving": saving,
            "copies": {str(rank): pair for rank, pair in lead.copies.items()},
            "pods": {str(rank): uid for rank, uid in lead._pods.items()},
            "ended": lead.ended,
        },
        "objects": [store.objects[reference] for reference in sorted(store.objects)],
    }


async def restored_world(saved: JSON, **site: Any) -> Any:
    """Return a world as it was saved, with an operator that has just begun; to be ended with `end_world`.

    `site` has fields of the plan's `Site`: what the cluster offers by now.
    """
    import asyncio
    from datetime import datetime

    from minicluster.plan import SaveProgress, Site
    from tests.operator.memory_api import MemoryApi
    from tests.operator.memory_history import Clock, History
    from tests.operator.memory_objects import reference_of
    from tests.operator.memory_store import Store
    from tests.operator.world import World

    await asyncio.sleep(max(0.0, saved["clock"] - clock()))
    version, time = saved["version"], datetime.fromisoformat(saved["time"])
    store = Store(history=History(version=version, oldest=version), clock=Clock(time))
    store._uids = saved["uids"]
    for item in saved["objects"]:
        store.objects[reference_of(item)] = item
        store._field_sets[reference_of(item)] = dict(_field_sets_of(item))
    here = World(api=MemoryApi(store), site=Site(lead_api=True, **site))
    lead = saved["lead"]
    saving = lead["saving"]
    if saving is not None:
        since = datetime.fromisoformat(saving["since"]) if saving["since"] else None
        reported_at = saving.pop("told")
        here.lead.saving = SaveProgress(**{**saving, "reported_at": reported_at, "since": since})
    here.lead.busy = set(lead["busy"])
    here.lead.drained = {int(rank): why for rank, why in lead["drained"].items()}
    here.lead.since = {int(rank): at for rank, at in lead["since"].items()}
    here.lead.copies = {int(rank): (old, new) for rank, (old, new) in lead["copies"].items()}
    here.lead._pods = {int(rank): uid for rank, uid in lead["pods"].items()}
    here.lead.ended = lead["ended"]
    return here


def _field_sets_of(item: JSON) -> Any:
    """Yield the managers with their fields by `managedFields`."""
    from tests.operator.memory_store import Hold

    for each in item["metadata"]["managedFields"]:
        hold = Hold(each["manager"], each["operation"], each.get("subresource", ""))
        yield hold, frozenset(_paths(each["fieldsV1"], ()))


def _paths(tree: JSON, path: tuple[str, ...]) -> Any:
    if path and (not tree or "." in tree):
        yield path
    for key, below in tree.items():
        if key != ".":
            yield from _paths(below, (*path, key))


async def end_world(here: Any) -> list[str]:
    """End a restored world's operator; return how its reconciles ended."""
    await here.operator.end()
    return list(here.meter.results)
