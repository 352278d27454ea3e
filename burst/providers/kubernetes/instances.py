"""Connects to the instance of an isolated burst, by a command in the pod of its lead broker.

It needs the right to run commands in pods of the namespace of bursts, and no way there but the API server.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from burst.errors import RetryLater
from burst.joining.workers import name_of
from burst.providers.kubernetes import objects
from minicluster.backends import kept_instance
from minicluster.instance.errors import InstanceError
from minicluster.instance.links.lines import LinesEndpoint
from minicluster.instance.rpc_instance import RpcInstance
from minicluster.kube_client.errors import KubernetesError
from minicluster.kube_client.pod_streams import PodContainer
from minicluster.kube_client.user_client import UserClient
from minicluster.plan.constants import LABEL_POD_INDEX
from minicluster.remote.exec_channel import ExecChannel
from minicluster.remote.lead import visit

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from burst.providers.kubernetes.reports import FoundObjects
    from burst.providers.provider import WantedBurst
    from minicluster.backends.kept_instance import KeptInstance
    from minicluster.instance.port import Instance
    from minicluster.kube_client.access import Access


def connect(access: Access, namespace: str, wanted: WantedBurst) -> KeptInstance:
    """Return a connection that lasts until it is closed. Raises RetryLater."""

    def ask(work: Callable[[Instance], None]) -> None:
        asyncio.run(_asked(access, namespace, wanted, work))

    try:
        return kept_instance.kept(ask, name_of(wanted.label))
    except (KubernetesError, InstanceError) as error:
        raise RetryLater(f"{name_of(wanted.label)} in namespace {namespace}: {error}") from error


async def _asked(
    access: Access, namespace: str, wanted: WantedBurst, work: Callable[[Instance], None]
) -> None:
    async with UserClient(access) as client:
        pod = _lead(await objects.of_burst(client, namespace, wanted))
        if pod is None:
            raise RetryLater(f"the lead broker of {name_of(wanted.label)} does not run")
        container = PodContainer(namespace, pod["metadata"]["name"], pod["spec"]["containers"][0]["name"])
        async with client.pods.execute(container, visit("relay")) as stream:
            channel = ExecChannel(stream)
            async with channel.carried():
                await asyncio.to_thread(_with_instance, wanted, channel, work)


def _with_instance(wanted: WantedBurst, channel: ExecChannel, work: Callable[[Instance], None]) -> None:
    endpoint = LinesEndpoint(f"burst {wanted.label}", channel, inherits_environment=False)
    with RpcInstance(endpoint) as instance:
        work(instance)


def _lead(found: FoundObjects) -> dict[str, Any] | None:
    """Return the pod of the lead broker, if it runs."""
    for each in found.pods:
        labels, status = each["metadata"].get("labels") or {}, each.get("status") or {}
        is_going = "deletionTimestamp" in each["metadata"]
        if labels.get(LABEL_POD_INDEX) == "0" and status.get("phase") == "Running" and not is_going:
            return each
    return None
