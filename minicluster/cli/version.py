"""`minicluster version`."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

import typer

from minicluster.cli.backend_choice import BackendCommand, versions
from minicluster.cli.tables import OutputOption, echo, show

if TYPE_CHECKING:
    from collections.abc import Iterator

    from minicluster.backends.records import ComponentVersion

app = typer.Typer(add_completion=False)


@app.command(cls=BackendCommand)
def version(ctx: typer.Context, output: OutputOption = "table") -> None:
    """Show the versions of this program and of what it works with, and what does not fit.

    With --on kubernetes also those of the cluster, as far as you may see them.

    minicluster version

    minicluster version --on kubernetes --output json
    """
    found = [*_own(), *versions(ctx)]
    if output == "json":
        show([asdict(each) for each in found], (), output)
        return
    names = [f"{each.component} {each.name}".strip() for each in found]
    rows = [
        {"component": name, "version": each.version or "not known", "note": each.note}
        for name, each in zip(names, found, strict=True)
    ]
    show(rows, ("component", "version", "note"), output)
    for name, each in zip(names, found, strict=True):
        if each.differs:
            echo(f"{name} {each.differs}")


def _own() -> Iterator[ComponentVersion]:
    """Yield the versions on this machine."""
    import platform
    import sys

    from minicluster import __version__
    from minicluster.backends.records import ComponentVersion
    from minicluster.embedded.overlay.overlay import VERSION
    from minicluster.instance.connection import core_version, real_flux
    from minicluster.instance.errors import NoEngine

    yield ComponentVersion("minicluster", __version__, "this program")
    yield ComponentVersion("Python", platform.python_version(), sys.executable)
    yield ComponentVersion("embedded instance", VERSION, "the release of Flux whose interfaces it has")
    try:
        command = real_flux()
    except NoEngine as error:
        yield ComponentVersion("Flux", note=str(error).removeprefix("real Flux is needed here, but "))
        return
    flux = core_version(command)
    differs = "" if flux == VERSION else f"on PATH is not {VERSION}, with which this program is tested"
    yield ComponentVersion("Flux", flux or None, command, differs=differs)
