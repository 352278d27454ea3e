"""The operator knows the nodes before it begins, or that it may not read them."""

import asyncio
import logging
from collections.abc import AsyncIterator
from typing import Any, cast

import pytest

from minicluster.kube_client.api import Api, Listing, Selection, WatchEvent
from minicluster.kube_client.errors import ApiError, ApiUnreachableError
from minicluster.kube_client.resources import NODES
from minicluster.operator import node_watch
from minicluster.operator.node_index import NodeIndex

NODE = {"metadata": {"name": "n", "resourceVersion": "3"}}
DENIED = ApiError(403, "Forbidden", "nodes is forbidden")
AWAY = ApiUnreachableError("no answer: connection refused")


class Server:
    """Answers lists of nodes with these errors, then with one node; a watch lasts."""

    def __init__(self, *errors: Exception) -> None:
        self.errors = list(errors)
        self.selections: list[Selection] = []

    async def list(self, selection: Selection) -> Listing:
        self.selections.append(selection)
        if self.errors:
            raise self.errors.pop(0)
        return Listing((NODE,), "5")

    async def watch(self, _selection: Selection, _version: str) -> AsyncIterator[WatchEvent]:
        await asyncio.Event().wait()
        yield WatchEvent("ADDED", NODE)


def begun(server: Server) -> list[str] | None:
    """Begin, and return the nodes that are known then."""
    index, tasks = NodeIndex(), list[asyncio.Task[Any]]()

    async def work() -> None:
        def task(coroutine: Any) -> None:
            tasks.append(asyncio.ensure_future(coroutine))

        async with asyncio.timeout(10):
            await node_watch.begin(cast("Api", server), index, task, lambda _: None)
        for each in tasks:
            each.cancel()

    asyncio.run(work())
    found = index.reports()
    return None if found is None else [each.name for each in found]


def test_it_waits_until_nodes_are_listed(caplog: pytest.LogCaptureFixture) -> None:
    """All of them: they have no namespace. A server that does not answer yet is asked again."""
    server = Server(AWAY)
    assert begun(server) == ["n"]
    assert set(server.selections) == {Selection(NODES)}
    assert caplog.records == []


def test_who_may_not_read_them_goes_on_without(caplog: pytest.LogCaptureFixture) -> None:
    """As an operator whose chart was installed without that right."""
    with caplog.at_level(logging.WARNING):
        assert begun(Server(*[DENIED] * 9)) is None
    assert [each.getMessage() for each in caplog.records] == [
        (
            "nodes cannot be read: brokers are spread over maxSize, else size of them"
            " (403 Forbidden: nodes is forbidden)"
        )
    ]
