"""The command `minicluster burst rehearse`."""

from typing import Annotated

import typer

from minicluster.cli.tables import OutputOption


def rehearse(
    scenario: Annotated[str, typer.Argument(metavar="SCENARIO", help="File that describes it, in YAML.")],
    output: OutputOption = "table",
    report: Annotated[
        str, typer.Option("--report", metavar="FILE.html", help="Also write bursts and money over time.")
    ] = "",
) -> None:
    """Try a bursting policy and a budget without an account: clouds and time are in memory.

    Planner, service and ledger are the real ones. The same scenario gives the same bursts each time.

    minicluster burst rehearse examples/burst-rehearsal/scenario.yaml

    minicluster burst rehearse scenario.yaml --output json --report bursts.html
    """
    from burst.cli import rehearsal  # noqa: PLC0415 - no other command needs it

    if not rehearsal.run(scenario, output, report):
        raise typer.Exit(1)
