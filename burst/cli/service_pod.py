"""Runs a command about bursts in the pod of a burst service, where its ledger and settings are.

It takes the right to run commands in pods of that namespace: who has it is an administrator of the service.
"""

from __future__ import annotations

import asyncio
import codecs
import sys
from typing import TYPE_CHECKING, NamedTuple

from burst.cli.errors import ServicePodAbsent
from burst.cli.source_choice import SERVICE
from burst.kubernetes.settings import INSTALLED
from minicluster.kube_client.access import Access
from minicluster.kube_client.api import Selection
from minicluster.kube_client.exec_stream import STDERR, STDOUT
from minicluster.kube_client.pod_streams import PodContainer
from minicluster.kube_client.resources import PODS
from minicluster.kube_client.user_client import UserClient
from minicluster.plan.constants import BURST_APPLICATION, LABEL_INSTANCE, LABEL_NAME

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from burst.cli.source_choice import SourceChoice
    from minicluster.plan.objects.fields import Object

CONTAINER = "burst-service"


class FarAnswer(NamedTuple):
    """How a command has ended there."""

    code: int
    output: str


def run(choice: SourceChoice, words: Sequence[str]) -> int:
    """Run a command there, and return its exit code; what it writes is written here.

    Raises ServicePodAbsent and KubernetesError.
    """

    streams = {STDOUT: sys.stdout, STDERR: sys.stderr}
    decoders = {channel: _decoder() for channel in streams}

    def write(channel: int, data: bytes) -> None:
        streams[channel].write(decoders[channel].decode(data))
        streams[channel].flush()

    return asyncio.run(_run(choice, words, write))


def captured(choice: SourceChoice, words: Sequence[str]) -> FarAnswer:
    """Run a command there, and return its output; what is an error is written here. Raises as `run`."""
    kept: list[bytes] = []
    decoder = _decoder()

    def write(channel: int, data: bytes) -> None:
        if channel == STDERR:
            sys.stderr.write(decoder.decode(data))
        else:
            kept.append(data)

    code = asyncio.run(_run(choice, words, write))
    return FarAnswer(code, b"".join(kept).decode(errors="replace"))


def _decoder() -> codecs.IncrementalDecoder:
    """Return what decodes text that comes in pieces."""
    return codecs.getincrementaldecoder("utf-8")("replace")


async def _run(choice: SourceChoice, words: Sequence[str], write: Callable[[int, bytes], None]) -> int:
    namespace = choice.namespace or INSTALLED
    command, *given = words
    async with UserClient(Access(choice.kubeconfig, choice.context)) as client:
        pod = await _pod(client, namespace)
        there = ["minicluster", "burst", command, "--on", SERVICE, *given]
        async with client.pods.execute(PodContainer(namespace, pod, CONTAINER), there) as stream:
            await stream.close_input()
            async for channel, data in stream.output():
                write(channel, data)
        assert stream.exit_code is not None  # noqa: S101 - the output ends with it
        return stream.exit_code


async def _pod(client: UserClient, namespace: str) -> str:
    """Return the name of a pod of the service; of several any, as they have one ledger.

    Raises ServicePodAbsent.
    """
    found = (await client.list(Selection(PODS, namespace, f"{LABEL_NAME}={BURST_APPLICATION}"))).items
    running = [each for each in found if _runs(each)]
    if not running:
        states = ", ".join(f"{each['metadata']['name']} is {_state(each)}" for each in found)
        why = f": {states}" if states else f": none has the label {LABEL_NAME}={BURST_APPLICATION}"
        raise ServicePodAbsent(f"no pod of a burst service runs in namespace {namespace} (-n){why}")
    releases = sorted({each["metadata"]["labels"].get(LABEL_INSTANCE, "") for each in running})
    if len(releases) > 1:
        raise ServicePodAbsent(
            f"namespace {namespace} has several burst services, each with a ledger of its own:"
            f" {', '.join(releases)}; `kubectl exec` with `minicluster burst --on {SERVICE}` asks one of them"
        )
    return str(running[0]["metadata"]["name"])


def _runs(pod: Object) -> bool:
    statuses = (pod.get("status") or {}).get("containerStatuses") or ()
    is_up = any(each["name"] == CONTAINER and "running" in (each.get("state") or ()) for each in statuses)
    return is_up and "deletionTimestamp" not in pod["metadata"]


def _state(pod: Object) -> str:
    if "deletionTimestamp" in pod["metadata"]:
        return "being deleted"
    return str((pod.get("status") or {}).get("phase") or "unknown")
