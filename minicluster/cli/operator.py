"""`minicluster operator`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from minicluster.cli.help_text import PlainCommand
from minicluster.cli.options import ContextOption, KubeconfigOption
from minicluster.cli.service_options import ANY_PORT, ListenOption, LogFormatOption, LogLevelOption, address

if TYPE_CHECKING:
    from collections.abc import Iterable

    from minicluster.kube_client.access import Access

app = typer.Typer(add_completion=False)
PURPOSES = ("metrics", "jobs", "burst")
WatchedNamespacesOption = Annotated[
    list[str] | None,
    typer.Option("--namespace", "-n", metavar="NS", help="Look after this namespace's; may be repeated."),
]
AllNamespacesOption = Annotated[
    bool, typer.Option("--all-namespaces", "-A", help="Look after those of every namespace.")
]
LeaderLeaseOption = Annotated[
    str,
    typer.Option(
        metavar="NAMESPACE/NAME",
        help="The Lease that the leader holds; without it: that of an operator installed in the cluster,"
        " else minicluster-operator in the first namespace looked after, or in the operator's own.",
    ),
]
NoElectionOption = Annotated[
    bool, typer.Option("--no-leader-election", help="Lead without asking: there must be no other.")
]
GenerationsOption = Annotated[
    list[str] | None,
    typer.Option(
        metavar="PURPOSE=N",
        help="Of the tokens for metrics, jobs or burst at lead brokers: a higher one replaces them.",
    ),
]
GranularityOption = Annotated[
    Literal["none", "scale", "granularity", "predicted"],
    typer.Option(help="How MiniClusters with spec.profile are cut into brokers (docs/operator.md)."),
]
OverrideOption = Annotated[
    bool, typer.Option("--granularity-override", help="Let documents choose, by spec.granularity.")
]


@app.command(cls=PlainCommand)
def operator(  # noqa: PLR0913, PLR0917 - an option each
    namespaces: WatchedNamespacesOption = None,
    all_namespaces: AllNamespacesOption = False,
    context: ContextOption = "",
    kubeconfig: KubeconfigOption = "",
    lease: LeaderLeaseOption = "",
    no_leader_election: NoElectionOption = False,
    token_generation: GenerationsOption = None,
    granularity: GranularityOption = "none",
    granularity_override: OverrideOption = False,
    listen: ListenOption = ANY_PORT,
    log_format: LogFormatOption = "text",
    log_level: LogLevelOption = "info",
) -> None:
    """Run the operator: make what MiniClusters in a Kubernetes cluster need, until Ctrl-C or SIGTERM.

    From a laptop it looks after the namespace of the kubeconfig's context; in a pod it uses the service
    account. Of several operators with one Lease one leads, and the others stand by.

      minicluster operator

      minicluster operator --namespace research --namespace teaching

      minicluster operator --all-namespaces --lease flux-system/minicluster-operator --log-format json

      minicluster operator --granularity scale --granularity-override
    """
    _refuse_both("--namespace", namespaces, "--all-namespaces", all_namespaces)
    _refuse_both("--lease", lease, "--no-leader-election", no_leader_election)
    where = address(listen)
    generations = _generations(token_generation or ())
    named = _lease(lease) if lease else None

    import os

    from minicluster.kube_client.access import Access
    from minicluster.kube_client.service_process import identity
    from minicluster.operator import process as running
    from minicluster.operator.settings import LEASE, Generations, OperatorSettings

    access = Access(kubeconfig, context)
    watched = () if all_namespaces else tuple(dict.fromkeys(namespaces or (_own_namespace(access),)))
    if named is None and not no_leader_election:
        own_lease = (watched[0] if watched else _own_namespace(access), LEASE)
        named = running.installed_lease(access) or own_lease
    own = os.environ.get("POD_NAMESPACE", "")
    settings = OperatorSettings(
        access,
        watched,
        named,
        where,
        log_format,
        log_level,
        identity(),
        own,
        Generations(**generations),
        granularity,
        granularity_override,
    )
    raise typer.Exit(running.run(settings))


def _refuse_both(one: str, given: object, other: str, too: bool) -> None:
    if given and too:
        raise typer.BadParameter(f"give {one} or {other}, not both", param_hint=one)


def _generations(texts: Iterable[str]) -> dict[str, int]:
    found = {}
    for text in texts:
        purpose, _, number = text.partition("=")
        if purpose not in PURPOSES or not re.fullmatch(r"[1-9][0-9]{0,8}", number):
            message = f"{text}: needed is metrics=N, jobs=N or burst=N, with N from 1"
            raise typer.BadParameter(message, param_hint="--token-generation")
        found[purpose] = int(number)
    return found


def _own_namespace(access: Access) -> str:
    """Return the operator's own namespace: its pod's, or outside a cluster the context's."""
    import os

    return os.environ.get("POD_NAMESPACE") or access.namespace()


def _lease(text: str) -> tuple[str, str]:
    namespace, _, name = text.partition("/")
    if not namespace or not name or "/" in name:
        message = f"{text}: needed is NAMESPACE/NAME, such as flux-system/minicluster-operator"
        raise typer.BadParameter(message, param_hint="--lease")
    return namespace, name
