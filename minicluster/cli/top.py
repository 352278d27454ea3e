"""`minicluster top`: a cluster's queue as it changes."""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import typer

from minicluster.cli import queue_view
from minicluster.cli.kubernetes import say, scaler_fields, scaler_row
from minicluster.cli.tables import Format, cell, show, show_fields

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from rich.console import RenderableType

    from minicluster.cli.queue_view import QueueView
    from minicluster.instance.port import Instance
    from minicluster.kubernetes.clusters import Report
    from minicluster.kubernetes.session import Session, Target

TOLD_SECONDS = 10.0
"""Seconds that the API server has for telling of a MiniCluster amid the looks at its queue."""


@dataclass(frozen=True, slots=True)
class How:
    """In which form, whether once, and how many seconds between two looks."""

    output: Format = "table"
    once: bool = False
    interval: float = 2.0


@dataclass(frozen=True, slots=True)
class Look:
    """What is seen at one moment: what is known of the cluster, for people and programs, and its queue."""

    fields: Mapping[str, Any]
    row: Mapping[str, Any]
    queue: QueueView

    @property
    def shown(self) -> dict[str, Any]:
        """Return the fields for people."""
        jobs = ", ".join(f"{count} {state}" for state, count in self.queue.states.items() if count)
        return {**self.fields, **self.queue.row, "jobs": jobs or "none"}

    @property
    def told(self) -> dict[str, Any]:
        """Return all of it for programs."""
        jobs, waiting = dict(self.queue.states), list(self.queue.waiting)
        return {"time": self.queue.taken, **self.row, **self.queue.row, "jobs": jobs, "waiting": waiting}


Known = tuple["Mapping[str, Any]", "Mapping[str, Any]", int]
"""What is known of the cluster besides its queue: for people, for programs, its least size."""


def here(name: str, how: How) -> None:
    """Show a cluster of this machine."""
    from minicluster.local import connection, state_file

    def known() -> Known:
        _, state = state_file.need(name)
        row = {"name": state.name, "phase": state.phase.value, "size": state.size, "max_size": state.max_size}
        return row, row, state.min_size

    with connection.of(name) as instance:
        _watch(instance, known, how, threading.Event())


def on_kubernetes(where: Target, name: str, how: How) -> None:
    """Show a MiniCluster, over one connection to its lead and one to the API server."""
    from minicluster.kubernetes import clusters, instances, session
    from minicluster.kubernetes.errors import UnreachableError

    async def errand(asked: Session) -> None:
        loop, over = asyncio.get_running_loop(), threading.Event()

        def known() -> Known:
            found = asyncio.run_coroutine_threadsafe(clusters.state(asked, name), loop)
            try:
                return _known(found.result(TOLD_SECONDS))
            except TimeoutError as error:
                raise UnreachableError(f"no answer from the API server within {TOLD_SECONDS:g} s") from error

        try:
            await instances.ask(asked, name, lambda instance: _watch(instance, known, how, over))
        finally:
            over.set()

    session.carry_out(where, errand, notice=say)


def _known(found: Report) -> Known:
    about, scalers = found.summary, found.scalers or ()
    row = {
        "name": about.name,
        "namespace": about.namespace,
        "phase": about.phase,
        "size": about.size,
        "max_size": about.max_size,
        "brokers_online": about.ready_brokers,
    }
    return (
        row | scaler_fields(scalers),
        row | {"autoscalers": [scaler_row(each) for each in scalers]},
        about.min_size,
    )


def _watch(instance: Instance, known: Callable[[], Known], how: How, over: threading.Event) -> None:
    """Look and show until it is over, or once."""
    from minicluster.instance.errors import RequestRefused

    with _display(how) as display:
        while not over.is_set():
            try:
                _follow(instance, known, how, over, display)
            except RequestRefused:
                if how.once:
                    raise
                over.wait(how.interval)  # what was known of the queue is doubtful: it is read anew
            else:
                return


def _follow(
    instance: Instance,
    known: Callable[[], Known],
    how: How,
    over: threading.Event,
    display: Callable[[Look], None],
) -> None:
    with queue_view.watching(instance, known()[2]) as watcher:
        while not over.is_set():
            fields, row, _ = known()
            display(Look(fields, row, queue_view.look(instance, watcher)))
            if how.once or over.wait(how.interval):
                return


@contextlib.contextmanager
def _display(how: How) -> Iterator[Callable[[Look], None]]:
    """Return what shows a look: as JSON, as text, or in place of the one before."""
    if how.output == "json":
        yield _print_once_json if how.once else _print_json
    elif how.once:
        yield _print
    else:
        from rich.live import Live

        with Live(auto_refresh=False, transient=False) as live:
            yield lambda look: live.update(_drawn(look), refresh=True)


def _print_json(look: Look) -> None:
    typer.echo(json.dumps(look.told, ensure_ascii=False))


def _print_once_json(look: Look) -> None:
    show([look.told], (), "json")


def _print(look: Look) -> None:
    show_fields(look.shown)
    queue_view.show_waiting(look.queue)


def _drawn(look: Look) -> RenderableType:
    from rich import box
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    grid = Table.grid(padding=(0, 2))
    for key, value in look.shown.items():
        grid.add_row(Text(key.replace("_", " "), style="dim"), Text(cell(value)))
    jobs = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for column in queue_view.WAITING_COLUMNS:
        jobs.add_column(column.upper(), overflow="fold")
    for each in look.queue.waiting:
        jobs.add_row(*(Text(cell(each[column])) for column in queue_view.WAITING_COLUMNS))
    moment = Text(time.strftime("%H:%M:%S", time.localtime(look.queue.taken)), style="dim")
    return Group(moment, grid, *([jobs] if look.queue.waiting else []))
