"""`minicluster top`: a cluster's queue as it changes."""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any

import typer

from minicluster.cli.backend_choice import BackendCommand, chosen
from minicluster.cli.cluster_choice import OptionalClusterArgument, named
from minicluster.cli.tables import Format, OutputOption, cell, json_text, show, show_fields

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from rich.console import RenderableType

    from minicluster.backends.records import ClusterSample, Watched
    from minicluster.cli.queue_view import JobTable, QueueView
    from minicluster.instance.port import Instance
    from minicluster.instance.records import BurstSummary

app = typer.Typer(add_completion=False)


@dataclass(frozen=True, slots=True)
class How:
    """The options of `top`."""

    output: Format = "table"
    once: bool = False
    interval: float = 2.0
    """Seconds between two samples."""


@dataclass(frozen=True, slots=True)
class Screen:
    """One sample of a cluster and its queue."""

    cluster: ClusterSample
    queue: QueueView

    @property
    def shown(self) -> dict[str, Any]:
        """Return the fields for users."""
        from minicluster.cli import queue_view

        jobs = ", ".join(f"{count} {state}" for state, count in self.queue.states.items() if count)
        queue = queue_view.for_people(self.queue.row)
        return {**self.cluster.row, **self.cluster.people, **queue, "jobs": jobs or "none"}

    @property
    def as_json(self) -> dict[str, Any]:
        """Return the fields of the JSON output."""
        known = {**self.cluster.row, **self.cluster.programs, **self.queue.row}
        jobs = {"waiting": list(self.queue.waiting), "running": list(self.queue.running)}
        return {"time": self.queue.taken, **known, "jobs": dict(self.queue.states), **jobs}


@app.command(cls=BackendCommand)
def top(
    ctx: typer.Context,
    name: OptionalClusterArgument = None,
    output: OutputOption = "table",
    once: Annotated[bool, typer.Option("--once", help="Print it once, and end.")] = False,
    interval: Annotated[float, typer.Option(min=0.2, metavar="SECONDS", help="How often to look.")] = 2.0,
) -> None:
    """Show a cluster's queue as it changes, until Ctrl-C: size, demand, what runs, what waits and why.

    On Kubernetes also what its autoscaler asks for. With --output json a line of JSON for each look.

      minicluster top mc

      minicluster top mc --on kubernetes -n research --once --output json
    """
    how, backend = How(output, once, interval), chosen(ctx)
    cluster = named(backend, name)
    with contextlib.nullcontext() if once else contextlib.suppress(KeyboardInterrupt):  # the way to end it
        backend.watch(cluster, lambda instance, watched: _watch(instance, watched, how))


def _watch(instance: Instance, watched: Watched, how: How) -> None:
    """Show samples until the cluster is over, or one sample."""
    from minicluster.broker_link.errors import Refused

    with _display(how) as display:
        while not watched.over.is_set():
            try:
                _follow(instance, watched, how, display)
            except Refused:
                if how.once:
                    raise
                watched.over.wait(how.interval)  # the reader may have missed changes: it is made anew
            else:
                return


def _follow(instance: Instance, watched: Watched, how: How, display: Callable[[Screen], None]) -> None:
    from minicluster.cli import queue_view

    with queue_view.watching(instance, watched.sample().least) as watcher:
        while not watched.over.is_set():
            sample = watched.sample()
            display(Screen(sample, queue_view.view(instance, watcher, partial(_bursts, sample))))
            if how.once or watched.over.wait(how.interval):
                return


def _bursts(sample: ClusterSample) -> Sequence[BurstSummary]:
    return sample.bursts


@contextlib.contextmanager
def _display(how: How) -> Iterator[Callable[[Screen], None]]:
    """Yield a function that shows a sample: as JSON, as text, or over the sample before."""
    if how.output == "json":
        yield _print_once_json if how.once else _print_json
    elif how.once:
        yield _print
    else:
        from rich.live import Live

        # Nothing else writes there, and without its encoding ids would be written in ASCII.
        with Live(auto_refresh=False, transient=False, redirect_stdout=False) as live:
            yield lambda screen: live.update(_drawn(screen), refresh=True)


def _print_json(screen: Screen) -> None:
    typer.echo(json_text(screen.as_json))


def _print_once_json(screen: Screen) -> None:
    show([screen.as_json], (), "json")


def _print(screen: Screen) -> None:
    from minicluster.cli import queue_view

    show_fields(screen.shown)
    queue_view.show_jobs(queue_view.tables(screen.queue))


def _drawn(screen: Screen) -> RenderableType:
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    from minicluster.cli import queue_view

    grid = Table.grid(padding=(0, 2))
    for key, value in screen.shown.items():
        grid.add_row(Text(key.replace("_", " "), style="dim"), Text(cell(value)))
    moment = Text(time.strftime("%H:%M:%S", time.localtime(screen.queue.taken)), style="dim")
    return Group(moment, grid, *map(_drawn_jobs, queue_view.tables(screen.queue)))


def _drawn_jobs(found: JobTable) -> RenderableType:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    jobs = Table(title=f"{found.title}:", title_justify="left", box=box.SIMPLE_HEAD, pad_edge=False)
    jobs.caption, jobs.caption_justify = f"and {found.more} more" if found.more else None, "left"
    for column in found.columns:
        jobs.add_column(column.upper(), overflow="fold")
    for each in found.jobs:
        jobs.add_row(*(Text(cell(each[column])) for column in found.columns))
    return jobs
