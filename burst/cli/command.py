"""`minicluster burst`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeVar

import typer

from burst.cli.rehearse import rehearse
from burst.cli.source import ReportCommand, SourceCommand
from burst.cli.source_choice import SourceChoice
from minicluster.cli.help_text import PlainCommand, PlainGroup
from minicluster.cli.reporting import print_notice
from minicluster.cli.service_options import LogLevelOption
from minicluster.cli.tables import OutputOption, echo, json_text, show

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from burst.cli.workplace import PathChoice
    from burst.costs.alarms import CostAlarm
    from burst.costs.report.records import ReportData
    from burst.workplace import Workplace

T = TypeVar("T")
app = typer.Typer(name="burst", cls=PlainGroup, add_completion=False, no_args_is_help=True)

app.command(cls=PlainCommand)(rehearse)

BurstSettingsOption = Annotated[
    str,
    typer.Option(
        "--settings", metavar="FILE", help="Providers and budgets; by default burst.yaml in the state folder."
    ),
]
LedgerFolderOption = Annotated[
    str,
    typer.Option("--state", metavar="FOLDER", help="Of the ledger; by default ~/.local/state/minicluster."),
]
InstallationOption = Annotated[
    str,
    typer.Option(
        "--installation",
        metavar="ID",
        help="Of a service whose ledger is lost: what it has made, and is past its end, is deleted.",
    ),
]
ExpiredOption = Annotated[
    bool,
    typer.Option("--expired", help="With --installation: say nothing of what is not past its end."),
]
OpenOption = Annotated[
    bool,
    typer.Option("--open", help="With --installation: delete that too; a service that is alive loses it."),
]
BurstingNameArgument = Annotated[
    str, typer.Argument(metavar="[NAME]", help="Of a MiniCluster; by default all that burst.")
]
CostPeriodOption = Annotated[
    Literal["day", "week", "month", "all"],
    typer.Option("--period", help="Bursts of this calendar period in UTC, or all that ever were."),
]
CostSinceOption = Annotated[
    str, typer.Option("--since", metavar="TIME", help="Bursts since a time instead: 2026-11-01.")
]
BurstArgument = Annotated[str, typer.Argument(metavar="BURST", help="As `burst list` prints it.")]


@app.callback()
def burst() -> None:
    """Run jobs that do not fit here on nodes of other clusters, which are made for them and taken away again.

    A document asks for it with `spec.bursting`; jobs are submitted with `--burstable`.

    minicluster burst plan

    minicluster burst serve

    minicluster burst list

    With --on service they are about the burst service in a Kubernetes cluster, in whose pod they run.
    """


@app.command(cls=SourceCommand)
def plan(
    ctx: typer.Context,
    name: BurstingNameArgument = "",
    settings: BurstSettingsOption = "",
    state: LedgerFolderOption = "",
    output: OutputOption = "table",
) -> None:
    """Show which bursts would be made now, for which jobs, at what cost, and why other jobs are left out.

    Nothing is made, and nothing is written.

    minicluster burst plan mc

    minicluster burst plan --output json
    """
    from burst.cli import rows, shown
    from burst.cli.requests import chosen

    async def work(workplace: Workplace) -> list[dict[str, Any]]:
        currency = workplace.settings.settings.currency
        meant = await chosen(workplace, name)
        return [rows.of_plan(await workplace.planner.planned(each), currency) for each in meant]

    plans = _within(_choice(ctx, state, settings), work)
    if output == "json":
        echo(json_text(plans, indent=2))
        return
    for each in plans:
        shown.show_plan(each)


@app.command(cls=SourceCommand)
def apply(
    ctx: typer.Context,
    digest: Annotated[str, typer.Argument(metavar="DIGEST", help="Of a plan, as `burst plan` prints it.")],
    settings: BurstSettingsOption = "",
    state: LedgerFolderOption = "",
) -> None:
    """Have the service make the bursts of a plan, if that is still the plan.

    minicluster burst apply 3f1c09d2a4b58e67
    """
    from burst.cli.requests import apply_plan

    async def work(workplace: Workplace) -> Sequence[str]:
        return await apply_plan(workplace, digest)

    for each in _within(_choice(ctx, state, settings), work):
        echo(each)


@app.command("list", cls=SourceCommand)
def list_bursts(
    ctx: typer.Context,
    *,
    every: Annotated[bool, typer.Option("--all", "-a", help="Those that are deleted as well.")] = False,
    settings: BurstSettingsOption = "",
    state: LedgerFolderOption = "",
    output: OutputOption = "table",
) -> None:
    """List bursts: where each is in its life, how it went, and what it costs.

    minicluster burst list

    minicluster burst list --all --output json
    """
    from burst.cli import costs, rows
    from burst.cli.requests import listed

    async def work(workplace: Workplace) -> tuple[list[dict[str, Any]], list[CostAlarm]]:
        return await listed(workplace, every=every), await costs.of_bursts(workplace)

    found, alarms = _within(_choice(ctx, state, settings), work)
    listed_as = found if output == "json" else [rows.shown(each) for each in found]
    show(listed_as, rows.BURST_COLUMNS, output, "no bursts")
    for each in alarms:
        print_notice(each.text)


@app.command(cls=SourceCommand)
def cost(
    ctx: typer.Context,
    period: CostPeriodOption = "month",
    since: CostSinceOption = "",
    about: Annotated[
        Literal["", "all", "provider", "cluster", "user"],
        typer.Option("--by", metavar="KIND", help="Only all, provider, cluster or user."),
    ] = "",
    settings: BurstSettingsOption = "",
    state: LedgerFolderOption = "",
    output: Annotated[
        Literal["table", "json", "csv"], typer.Option("--output", "-o", help="How to print it.")
    ] = "table",
) -> None:
    """Show what bursts have cost: all of them, by provider, by MiniCluster and by user.

    CHARGED is of bursts of which nothing is left; RESERVED is what the others may cost at worst. USED and
    LEFT are of the budget and its own period, which is the one in PERIOD.

    minicluster burst cost

    minicluster burst cost --period week --by user

    minicluster burst cost --since 2026-11-01 --output csv

    minicluster burst cost --on service --context lab
    """
    from burst.cli import costs

    async def work(workplace: Workplace) -> costs.CostView:
        return await costs.read(workplace, costs.begin(period, since, workplace.ledger.now()), about)

    found = _within(_choice(ctx, state, settings), work)
    costs.print_costs(found, output)
    for each in found.alarms:
        print_notice(each)


@app.command(cls=ReportCommand)
def report(
    ctx: typer.Context,
    period: CostPeriodOption = "month",
    since: CostSinceOption = "",
    settings: BurstSettingsOption = "",
    state: LedgerFolderOption = "",
    output: Annotated[
        str,
        typer.Option("--output", "-o", metavar="FILE", help="The page; FILE.json, or - for JSON here."),
    ] = "burst.html",
) -> None:
    """Write a page about bursts, nodes and money over time, for a browser; it needs no network.

    minicluster burst report

    minicluster burst report --period all --output burst.html

    minicluster burst report --since 2026-11-01 --output -

    minicluster burst report --on service --context lab
    """
    from burst.cli import costs, report

    async def work(workplace: Workplace) -> ReportData:
        return await report.read(workplace, costs.begin(period, since, workplace.ledger.now()))

    report.write(_within(_choice(ctx, state, settings), work), output)


@app.command("show", cls=SourceCommand)
def show_burst(
    ctx: typer.Context,
    burst: BurstArgument,
    settings: BurstSettingsOption = "",
    state: LedgerFolderOption = "",
    output: OutputOption = "table",
) -> None:
    """Show all that is known of a burst: its resources, its jobs, and what was done for it.

    minicluster burst show 62dgmfw4gk
    """
    from burst.cli import shown
    from burst.cli.requests import details

    found = _within(_choice(ctx, state, settings), lambda workplace: details(workplace, burst))
    if output == "json":
        echo(json_text(found, indent=2))
        return
    shown.show_details(found)


@app.command(cls=SourceCommand)
def stop(
    ctx: typer.Context,
    burst: BurstArgument,
    settings: BurstSettingsOption = "",
    state: LedgerFolderOption = "",
) -> None:
    """End a burst: jobs that run there may end, those that wait are moved back.

    minicluster burst stop 62dgmfw4gk
    """
    from burst.cli.requests import stop_burst

    echo(_within(_choice(ctx, state, settings), lambda workplace: stop_burst(workplace, burst)))


@app.command(cls=SourceCommand)
def sweep(  # noqa: PLR0913 - an option each
    ctx: typer.Context,
    *,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only report what would be deleted.")] = False,
    installation: InstallationOption = "",
    expired: ExpiredOption = False,
    open_too: OpenOption = False,
    settings: BurstSettingsOption = "",
    state: LedgerFolderOption = "",
    output: OutputOption = "table",
) -> None:
    """Compare what providers list with the ledger, and delete what belongs to no burst.

    The service does it every two minutes by itself.

    minicluster burst sweep --dry-run

    minicluster burst sweep --installation 01kb4q2m8d6s3f9v7x5c1n0t2r --dry-run

    minicluster burst sweep --installation 01kb4q2m8d6s3f9v7x5c1n0t2r --expired

    minicluster burst sweep --installation 01kb4q2m8d6s3f9v7x5c1n0t2r --open
    """
    from burst.cli.requests import swept
    from burst.sweep import OPEN

    for given, option in ((expired, "--expired"), (open_too, "--open")):
        if given and not installation:
            raise typer.BadParameter("has a meaning only with --installation", param_hint=option)
    if expired and open_too:
        raise typer.BadParameter("has no meaning with --expired", param_hint="--open")
    found, unswept = _within(
        _choice(ctx, state, settings),
        lambda workplace: swept(
            workplace, installation, is_dry=dry_run, is_expired=expired, has_open=open_too
        ),
    )
    show(found, ("provider", "kind", "name", "nodes", "burst", "action"), output, "nothing is left over")
    left = sum(each["action"] == OPEN for each in found)
    if left:
        print_notice(f"{left} not deleted, as a service that is alive may use it: --open deletes that too")
    for text in unswept:
        print_notice(f"not swept: {text}")
    if unswept or (left and not dry_run):
        raise typer.Exit(1)


@app.command(cls=SourceCommand)
def providers(
    ctx: typer.Context,
    settings: BurstSettingsOption = "",
    state: LedgerFolderOption = "",
    output: OutputOption = "table",
) -> None:
    """List the providers of the settings, with the machines that each offers.

    minicluster burst providers
    """
    from burst.cli.requests import offers

    found = _within(_choice(ctx, state, settings), offers)
    fee = ("fee_an_hour",) if any(each["fee_an_hour"] != "0.00" for each in found) else ()
    columns = ("provider", "location", "machine", "cores", "gpus", "price_an_hour", *fee, "most", "spot")
    show(found, columns, output, "the settings have no provider")


@app.command(cls=SourceCommand)
def check(
    ctx: typer.Context,
    provider: Annotated[str, typer.Argument(metavar="PROVIDER", help="As `burst providers` prints it.")],
    settings: BurstSettingsOption = "",
    state: LedgerFolderOption = "",
) -> None:
    """Ask a provider whether its settings, credentials and the way there are good for bursts.

    minicluster burst check research
    """
    from burst.cli.requests import checked

    found = _within(_choice(ctx, state, settings), lambda workplace: checked(workplace, provider))
    for each in (*found.problems, *found.remarks):
        echo(f"{provider}: {each}")
    if found.problems:
        raise typer.Exit(1)
    echo(f"{provider}: all is well")


@app.command(cls=SourceCommand)
def serve(
    ctx: typer.Context,
    settings: BurstSettingsOption = "",
    state: LedgerFolderOption = "",
    log_level: LogLevelOption = "info",
) -> None:
    """Make bursts, use them and take them away again, until Ctrl-C or SIGTERM.

    Bursts go on when the service does not run; the next one takes them over, and each ends by itself at the
    time that `burst list` shows.

    minicluster burst serve

    minicluster burst serve --settings burst.yaml

    minicluster burst serve --on kubernetes --context lab -n science
    """
    from burst.cli import process

    process.run(_choice(ctx, state, settings), log_level)


def _choice(ctx: typer.Context, state: str, settings: str) -> PathChoice:
    """Return where a user says things are."""
    from burst.cli.workplace import PathChoice

    return PathChoice(state, settings, ctx.ensure_object(SourceChoice))


def _within(choice: PathChoice, work: Callable[[Workplace], Awaitable[T]]) -> T:
    """Return what a function returns that uses the ledger, the settings and the leads."""
    import asyncio

    from burst.cli.workplace import opened

    async def run() -> T:
        async with opened(choice) as workplace:
            return await work(workplace)

    return asyncio.run(run())
