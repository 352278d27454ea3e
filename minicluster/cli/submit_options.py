"""The options of `minicluster submit`, under the names that `flux submit` has for them."""

from __future__ import annotations

from typing import Annotated

import typer

ProgramArgument = Annotated[
    list[str],
    typer.Argument(metavar="COMMAND...", help="The program and its arguments; options go before it."),
]
TasksOption = Annotated[int, typer.Option("--tasks", "--ntasks", "-n", min=1, help="Number of tasks.")]
NodesOption = Annotated[
    int,
    typer.Option(
        "--nodes",
        "-N",
        min=0,
        help="On so many brokers; 0: wherever they fit. With --batch alone: whole ones.",
    ),
]
CoresOption = Annotated[int, typer.Option("--cores-per-task", "-c", min=1, help="Cores of each task.")]
GpusOption = Annotated[int, typer.Option("--gpus-per-task", "-g", min=0, help="GPUs of each task.")]
ExclusiveOption = Annotated[bool, typer.Option("--exclusive", "-x", help="With --nodes: whole ones.")]
QueueOption = Annotated[str, typer.Option("--queue", "-q", metavar="QUEUE", help="Into this queue.")]
TimeLimitOption = Annotated[
    str, typer.Option(metavar="FSD", help="It is ended after 30s, 5m, 1.5h; without a unit seconds.")
]
MinutesOption = Annotated[
    str, typer.Option("-t", metavar="FSD", help="The same; without a unit minutes, as Flux.")
]
UrgencyOption = Annotated[
    str, typer.Option(metavar="0-31", help="31 first, 0 held; also hold, default, expedite.")
]
JobNameOption = Annotated[str, typer.Option(help="Its name, in place of the program's.")]
DependencyOption = Annotated[list[str] | None, typer.Option(help="As in afterok:JOB; may be repeated.")]
CwdOption = Annotated[str, typer.Option(metavar="DIR", help="The working directory, there where it runs.")]
EnvOption = Annotated[
    list[str] | None,
    typer.Option(metavar="RULE", help="NAME=VALUE, PATTERN, -PATTERN or ^FILE; may be repeated."),
]
InputOption = Annotated[str, typer.Option("--input", metavar="FILE", help="Standard input of the tasks.")]
OutputFileOption = Annotated[
    str,
    typer.Option("--output", metavar="FILE", help="For standard output; {{id}} is replaced."),
]
ErrorFileOption = Annotated[str, typer.Option("--error", metavar="FILE", help="The same for standard error.")]
LabelIoOption = Annotated[
    bool, typer.Option("--label-io", "-l", help="The task's rank before each line there.")
]
SetoptOption = Annotated[
    list[str] | None,
    typer.Option("--setopt", "-o", metavar="NAME[=VALUE]", help="Of Flux's shell."),
]
SetattrOption = Annotated[
    list[str] | None, typer.Option("--setattr", "-S", metavar="NAME[=VALUE]", help="A job attribute.")
]
BurstableOption = Annotated[
    bool, typer.Option("--burstable", help="It may run on nodes of another cluster that are made for it.")
]
BurstToOption = Annotated[
    str, typer.Option("--burst-to", metavar="PROVIDER", help="The same, on those of this provider alone.")
]
ResultsOption = Annotated[
    list[str] | None,
    typer.Option("--results", metavar="PATH", help="Bring this file or directory back from there."),
]
CcOption = Annotated[
    str,
    typer.Option("--cc", metavar="IDSET", help="A job for each id, such as 0-9, which replaces {cc}."),
]
BatchOption = Annotated[
    bool, typer.Option("--batch", help="COMMAND is a script here: it runs in an instance of its own.")
]
WaitOption = Annotated[bool, typer.Option("--wait", help="Wait until it ends, and end with its exit code.")]
WatchOption = Annotated[bool, typer.Option("--watch", help="The same, and show its output.")]
QuietOption = Annotated[bool, typer.Option("--quiet", help="Print no id.")]
