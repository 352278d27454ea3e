"""`minicluster quotas`: for everybody to see one's own, for administrators of a server to set them."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from minicluster.cli.help_text import PlainCommand, PlainGroup
from minicluster.cli.server_options import CaFileOption, ServerOption, client_of
from minicluster.cli.tables import OutputOption, echo, show

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from minicluster.client import Client
    from minicluster.client.quotas import QuotaRule, QuotaUsage

app = typer.Typer(name="quotas", cls=PlainGroup, add_completion=False, no_args_is_help=True)
COLUMNS = ("subject", "cluster", "jobs", "queued_jobs", "nodes", "node_hours", "window")
OWN_COLUMNS = ("cluster", "subject", "limit_of", "limit", "used")
HOUR, DAY = 3600.0, 86_400.0
NONE = "none"
EVERY_CLUSTER = "*"
_COUNTS = {"jobs": "jobs", "queued_jobs": "queued jobs", "nodes": "nodes"}

SubjectArgument = Annotated[
    str, typer.Argument(metavar="[USER]", help="The name that he logs in with.", show_default=False)
]
GroupOption = Annotated[
    str, typer.Option("--group", metavar="GROUP", help="Each member of this group, in place of USER.")
]
EveryoneOption = Annotated[
    bool, typer.Option("--everyone", help="Each user without a quota that is nearer, in place of USER.")
]
ClusterOption = Annotated[
    str, typer.Option("--cluster", metavar="NAME", help="At this one; else at all of them together.")
]
JobLimitOption = Annotated[str, typer.Option("--jobs", metavar="N|none", help="Jobs that have not ended.")]
QueuedLimitOption = Annotated[
    str, typer.Option("--queued-jobs", metavar="N|none", help="Those of them that have not begun.")
]
NodeLimitOption = Annotated[
    str, typer.Option("--nodes", metavar="N|none", help="Nodes of these jobs together.")
]
NodeHoursOption = Annotated[
    str,
    typer.Option("--node-hours", metavar="N|none", help="Of jobs within --window, and what they may use."),
]
WindowOption = Annotated[
    str, typer.Option("--window", metavar="FSD", help="For --node-hours: 1d or more; 30d at first.")
]


@dataclass(frozen=True, slots=True)
class QuotaSubject:
    """Whose jobs a quota is about, and where."""

    user: str
    group: str
    everyone: bool
    cluster: str

    @property
    def words(self) -> str:
        """Return both in words."""
        return f"{_subject(self.user, self.group)} at {self.cluster or 'all clusters'}"

    def check(self) -> None:
        """Raise BadParameter unless exactly one subject is named."""
        if (bool(self.user), bool(self.group), self.everyone).count(True) != 1:
            raise typer.BadParameter("give one of USER, --group and --everyone", param_hint="USER")

    def found(self, client: Client) -> QuotaRule | None:
        """Return the quota of this subject there; None without one."""
        name, cluster = self.user or self.group or None, self.cluster or EVERY_CLUSTER
        for each in client.quotas.all():
            same_kind = (each.user is not None, each.group is not None) == (bool(self.user), bool(self.group))
            if same_kind and (each.name, each.cluster) == (name, cluster):
                return each
        return None


@app.callback()
def quotas() -> None:
    """Show what your jobs may use at a server. For its administrators: set it.

    A user's own quota counts in place of those of groups, and these in place of everyone's.

    minicluster quotas show

    minicluster quotas set --everyone --jobs 100 --node-hours 500

    minicluster quotas set alice --cluster mc --nodes 16
    """


@app.command("show", cls=PlainCommand)
def show_own(
    cluster: ClusterOption = "",
    server: ServerOption = "",
    ca_file: CaFileOption = "",
    output: OutputOption = "table",
) -> None:
    """Show your own quotas, and what your jobs use of them. A job must fit into each.

    minicluster quotas show --cluster mc
    """
    with client_of(server, ca_file) as client:
        found = client.quotas.own(cluster)
    if output == "json":
        show([asdict(each) for each in found], (), output)
    else:
        show([row for each in found for row in _used(each)], OWN_COLUMNS, output, "no quotas")


@app.command("list", cls=PlainCommand)
def list_quotas(
    server: ServerOption = "", ca_file: CaFileOption = "", output: OutputOption = "table"
) -> None:
    """List all quotas. Below `*` is what is used at all clusters together.

    minicluster quotas list --output json
    """
    with client_of(server, ca_file) as client:
        found = client.quotas.all()
    rows = [asdict(each) if output == "json" else _row(each) for each in found]
    show(rows, COLUMNS, output, "no quotas")


@app.command("set", cls=PlainCommand)
def set_quota(  # noqa: PLR0913, PLR0917 - an option each
    user: SubjectArgument = "",
    group: GroupOption = "",
    everyone: EveryoneOption = False,
    cluster: ClusterOption = "",
    jobs: JobLimitOption = "",
    queued_jobs: QueuedLimitOption = "",
    nodes: NodeLimitOption = "",
    node_hours: NodeHoursOption = "",
    window: WindowOption = "",
    server: ServerOption = "",
    ca_file: CaFileOption = "",
) -> None:
    """Limit the jobs of a user, of each member of a group, or of everyone. Jobs that are there go on.

    What is not given stays as it is. `none` takes a limit away.

    minicluster quotas set alice --cluster mc --jobs 20 --nodes 16

    minicluster quotas set --group physics --node-hours 500 --window 30d

    minicluster quotas set alice --node-hours none
    """
    subject = QuotaSubject(user, group, everyone, cluster)
    subject.check()
    counts = {"--jobs": jobs, "--queued-jobs": queued_jobs, "--nodes": nodes}
    limits: dict[str, float | None] = {
        _field(option): _count(text, option) for option, text in counts.items() if text
    }
    if node_hours:
        limits["node_seconds"] = _node_seconds(node_hours)
    if window:
        limits["window"] = _window(window)
    if not limits:
        raise typer.BadParameter("give a limit, such as --jobs 20", param_hint="USER")
    with client_of(server, ca_file) as client:
        found = _stored(client, subject, limits)
    echo(f"quota of {subject.words}: {_limits(found)}")


@app.command(cls=PlainCommand)
def remove(
    user: SubjectArgument = "",
    group: GroupOption = "",
    everyone: EveryoneOption = False,
    cluster: ClusterOption = "",
    server: ServerOption = "",
    ca_file: CaFileOption = "",
) -> None:
    """Remove a quota: then the next nearer one counts, that of groups or of everyone.

    minicluster quotas remove alice --cluster mc
    """
    subject = QuotaSubject(user, group, everyone, cluster)
    subject.check()
    with client_of(server, ca_file) as client:
        found = subject.found(client)
        if found is None:
            words = f"{client.server} has no quota of {subject.words}; `minicluster quotas list` lists them"
            raise typer.BadParameter(words, param_hint="USER")
        client.quotas.remove(found.id)
    echo(f"quota of {subject.words} is removed")


def _stored(client: Client, subject: QuotaSubject, limits: Mapping[str, float | None]) -> QuotaRule:
    """Change the quota that is there, or make one. Raises BadParameter, ClientError."""
    found = subject.found(client)
    if found is not None:
        return client.quotas.change(found.id, **limits)
    user = _user_id(client, subject.user) if subject.user else ""
    group = _group_id(client, subject.group) if subject.group else ""
    return client.quotas.create(subject.cluster or EVERY_CLUSTER, user, group, **limits)


def _user_id(client: Client, name: str) -> str:
    found = client.users.named(name)
    if found is None:
        words = f"{client.server} has no user {name!r}; `minicluster users list` lists them"
        raise typer.BadParameter(words, param_hint="USER")
    return found.id


def _group_id(client: Client, name: str) -> str:
    known = client.quotas.groups()
    if name not in known:
        there = f"there are {', '.join(known)}" if known else "there are none"
        raise typer.BadParameter(f"{client.server} has no group {name!r}; {there}", param_hint="--group")
    return known[name]


def _field(option: str) -> str:
    return option.removeprefix("--").replace("-", "_")


def _count(text: str, option: str) -> int | None:
    found: int | None = _number(text, option, int, "a whole number from 0 on")
    return found


def _node_seconds(text: str) -> float | None:
    hours = _number(text, "--node-hours", float, "a number from 0 on")
    return None if hours is None else hours * HOUR


def _number(text: str, option: str, kind: Callable[[str], Any], needed: str) -> Any:
    """Return the number of a limit; None: there shall be no limit. Raises BadParameter."""
    if text == NONE:
        return None
    try:
        found = kind(text)
    except ValueError:
        found = -1
    if not 0 <= found < float("inf"):
        raise typer.BadParameter(f"{text!r} is neither {needed} nor {NONE}", param_hint=option)
    return found


def _window(text: str) -> float:
    from minicluster.cli.job_requests import seconds

    found = seconds(text, "--window")
    if found < DAY:
        raise typer.BadParameter(f"{text!r} is less than a day", param_hint="--window")
    return found


def _subject(user: str | None, group: str | None) -> str:
    return user or (f"group {group}" if group else "everyone")


def _row(rule: QuotaRule) -> dict[str, Any]:
    in_group = rule.group is not None
    hours = None if rule.node_seconds is None else _hours(rule.node_seconds)
    return {
        "subject": _subject(None if in_group else rule.name, rule.name if in_group else None),
        "cluster": rule.cluster,
        **{name: getattr(rule, name) for name in _COUNTS},
        "node_hours": hours,
        "window": "" if hours is None else f"{rule.window / DAY:g}d",
    }


def _limits(rule: QuotaRule) -> str:
    """Return the limits of a quota in words."""
    counts = {each: getattr(rule, name) for name, each in _COUNTS.items()}
    words = [f"{number} {each}" for each, number in counts.items() if number is not None]
    if rule.node_seconds is not None:
        words.append(f"{_hours(rule.node_seconds)} {_node_hours(rule.window)}")
    return ", ".join(words) or "no limits"


def _used(found: QuotaUsage) -> list[dict[str, Any]]:
    """Return a row a limit."""
    subjects = {"user": "you", "group": f"group {found.group}", "service": "the server's limit"}
    same = {"cluster": found.cluster, "subject": subjects.get(found.origin, found.origin)}
    limits, used = found.limits, found.used
    rows = [
        {**same, "limit_of": words, "limit": limits[name], "used": used[name]}
        for name, words in _COUNTS.items()
        if limits.get(name) is not None
    ]
    if (most := limits.get("node_seconds")) is not None:
        words = _node_hours(limits.get("window") or 0.0)
        rows.append({**same, "limit_of": words, "limit": _hours(most), "used": _spent(used)})
    return rows


def _spent(used: Mapping[str, float | None]) -> str:
    """Return node-hours that were used, and those that jobs which have not ended may still use."""
    spent, committed = used.get("node_seconds") or 0.0, used.get("committed_node_seconds")
    if committed is None:
        return f"{_hours(spent)}, and a job without a time limit has not ended"
    return f"{_hours(spent)}, and up to {_hours(committed)} by jobs that have not ended"


def _node_hours(window: float) -> str:
    return "node-hours in a day" if window == DAY else f"node-hours in {window / DAY:g} days"


def _hours(seconds: float) -> str:
    hours = seconds / HOUR
    return f"{hours:.2f}".rstrip("0").rstrip(".")
