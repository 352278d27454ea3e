"""What anybody may write into the metadata hides no MiniCluster, and has kopf write nothing."""

import asyncio
import contextlib
import copy
import json
import logging
from pathlib import Path
from typing import Any, cast

import kopf
import pytest
import yaml

from minicluster.kube_client.access import Access
from minicluster.operator import handlers
from minicluster.operator.controller import Controller
from tests.operator import stub_api_server

WHERE = "/apis/flux-framework.org/v1alpha2/namespaces/team/miniclusters/mc"
DEADLINE = 60.0
STORED = "kopf.zalando.org/last-handled-configuration"
METADATA: list[Any] = [
    pytest.param({}, id="nothing"),
    pytest.param({"annotations": {STORED: "x"}}, id="no JSON"),
    pytest.param({"annotations": {STORED: "[" * 100_000}}, id="deep JSON"),
    pytest.param({"annotations": {STORED: json.dumps([1])}}, id="a list"),
    pytest.param({"annotations": {"kopf.zalando.org/kopf-managed": "x"}}, id="the mark of a kopf operator"),
    pytest.param({"finalizers": ["kopf.zalando.org/KopfFinalizerMarker"]}, id="the finalizer of one"),
]


class Recorder:
    """A controller that takes note of what it is told."""

    def __init__(self) -> None:
        self.items: asyncio.Queue[dict[str, Any]] = asyncio.Queue()

    def seen(self, item: dict[str, Any]) -> None:
        self.items.put_nowait(item)

    gone = seen


async def followed(kubeconfig: Path) -> dict[str, Any]:
    """Have kopf follow the MiniClusters of an API server; return the first that it reports."""
    seen, stop = Recorder(), asyncio.Event()
    following = asyncio.create_task(
        kopf.operator(
            registry=handlers.registry(Access(str(kubeconfig)), cast(Controller, seen)),
            settings=handlers.settings(),
            standalone=True,
            identity="test",  # type: ignore[arg-type]
            clusterwide=True,
            stop_flag=stop,
        )
    )
    try:
        async with asyncio.timeout(DEADLINE):
            item = await seen.items.get()
    finally:
        stop.set()
        with contextlib.suppress(asyncio.CancelledError):
            await following
    return item


def kubeconfig(url: str, folder: Path) -> Path:
    """Write how the API server is reached."""
    content = {
        "current-context": "here",
        "contexts": [{"name": "here", "context": {"cluster": "stub", "user": "me"}}],
        "clusters": [{"name": "stub", "cluster": {"server": url}}],
        "users": [{"name": "me", "user": {}}],
    }
    path = folder / "kubeconfig"
    path.write_text(yaml.safe_dump(content))
    return path


@pytest.mark.parametrize("metadata", METADATA)
def test_the_operator_sees_it_and_kopf_writes_nothing(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, metadata: dict[str, Any]
) -> None:
    named = {"name": "mc", "namespace": "team", "uid": "1", "resourceVersion": "1", **metadata}
    item = {"apiVersion": "flux-framework.org/v1alpha2", "kind": "MiniCluster", "metadata": named, "spec": {}}
    objects = {WHERE: copy.deepcopy(item)}
    caplog.set_level(logging.ERROR)
    with stub_api_server.serving(objects) as server:
        reported = asyncio.run(followed(kubeconfig(server.url, tmp_path)))
    assert (reported["metadata"]["name"], server.objects, caplog.messages) == ("mc", {WHERE: item}, [])
