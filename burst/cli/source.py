"""Options of all commands about bursts, beside their own: which MiniClusters they mean."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import typer

from burst.cli.source_choice import KUBERNETES, SERVICE, SourceChoice
from burst.kubernetes import environment
from minicluster.cli.help_text import PlainCommand

_LEDGER = ("settings", "state")
"""Options that say where a ledger is: that of a service is its own."""


class SourceCommand(PlainCommand):
    """A command with the options of SourceChoice; in its context's `obj` is what they choose."""

    def __init__(self, *arguments: Any, params: list[Any] | None = None, **about: Any) -> None:
        shared = _shared_parameters()
        self._shared = [each.name for each in shared]
        super().__init__(*arguments, params=[*(params or ()), *shared], **about)

    def invoke(self, ctx: Any) -> Any:
        """Run it, where the ledger is. Raises BadParameter for an option that has no meaning there."""
        if ctx.get_parameter_source("on").name == "DEFAULT" and environment.is_of_service():
            ctx.params["on"] = SERVICE  # its ledger, settings and tunnels are this pod's
        given = {name: ctx.params.pop(name) for name in self._shared}
        choice = SourceChoice(**given)
        if choice.on not in (KUBERNETES, SERVICE):
            for name, value in given.items():
                if value and name != "on":
                    raise typer.BadParameter(
                        f"has a meaning only with --on {KUBERNETES}", param_hint=_option(name)
                    )
        if choice.on == SERVICE:
            if choice.all_namespaces:
                raise typer.BadParameter(
                    f"has a meaning only with --on {KUBERNETES}", param_hint="--all-namespaces"
                )
            for name in _LEDGER:
                if ctx.params.get(name):
                    raise typer.BadParameter("the service has its own", param_hint=_option(name))
        ctx.obj = choice
        return self.forwarded(ctx, choice) if choice.is_far else super().invoke(ctx)

    def forwarded(self, ctx: Any, choice: SourceChoice) -> Any:
        """Run it in the service's pod, whose output and exit code are this command's."""
        from burst.cli import service_pod

        raise typer.Exit(service_pod.run(choice, self.words(ctx)))

    def words(self, ctx: Any) -> list[str]:
        """Return the name of the command, and what it was given, without the options of SourceChoice."""
        options: list[str] = []
        arguments: list[str] = []
        for each in self.params:
            value = ctx.params.get(each.name)
            if each.name in self._shared or value is None or value == each.get_default(ctx):
                continue
            if each.param_type_name == "argument":
                arguments.append(str(value))
            else:
                options += [each.opts[0]] if value is True else [each.opts[0], str(value)]
        return [ctx.info_name, *options, *(["--", *arguments] if arguments else ())]


class ReportCommand(SourceCommand):
    """One that reads where the ledger is, and writes its file here."""

    def forwarded(self, ctx: Any, choice: SourceChoice) -> Any:
        """Write what the service's pod prints."""
        from burst.cli import report, service_pod

        output = ctx.params["output"]
        ctx.params["output"] = report.STANDARD_OUTPUT if report.is_json(output) else report.STANDARD_PAGE
        answer = service_pod.captured(choice, self.words(ctx))
        if answer.code:
            raise typer.Exit(answer.code)
        report.save(answer.output, output)


def _option(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _options(
    *,
    on: Annotated[
        Literal["local", "kubernetes", "service"],
        typer.Option(
            "--on",
            envvar="MINICLUSTER_ON",
            help="This machine, a Kubernetes cluster, or the burst service in one, with its ledger.",
        ),
    ] = "local",
    namespace: Annotated[
        str,
        typer.Option(
            "--namespace",
            "-n",
            metavar="NS",
            help="Kubernetes: in place of the context's namespace. Service: where its pod is.",
        ),
    ] = "",
    all_namespaces: Annotated[
        bool, typer.Option("--all-namespaces", "-A", help="Kubernetes: those of every namespace.")
    ] = False,
    context: Annotated[
        str,
        typer.Option("--context", metavar="CONTEXT", help="Kubernetes: in place of the current context."),
    ] = "",
    kubeconfig: Annotated[
        str,
        typer.Option(
            "--kubeconfig", metavar="FILE", help="Kubernetes: in place of $KUBECONFIG and ~/.kube/config."
        ),
    ] = "",
) -> None:
    """Have the arguments of a SourceChoice."""


def _shared_parameters() -> list[Any]:
    """Return the parameters that typer makes of these arguments."""
    app = typer.Typer(add_completion=False)
    app.command()(_options)
    return list(typer.main.get_command(app).params)
