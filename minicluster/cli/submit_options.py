"""The options of `minicluster submit`, under the names that `flux submit` has for them."""

from __future__ import annotations

from typing import Annotated

import typer

Program = Annotated[
    list[str],
    typer.Argument(metavar="COMMAND...", help="The program and its arguments; options go before it."),
]
Tasks = Annotated[int, typer.Option("--tasks", "--ntasks", "-n", min=1, help="Number of tasks.")]
Nodes = Annotated[int, typer.Option("--nodes", "-N", min=0, help="On so many brokers; 0: wherever they fit.")]
Cores = Annotated[int, typer.Option("--cores-per-task", "-c", min=1, help="Cores of each task.")]
Gpus = Annotated[int, typer.Option("--gpus-per-task", "-g", min=0, help="GPUs of each task.")]
Exclusive = Annotated[bool, typer.Option("--exclusive", "-x", help="With --nodes: whole ones.")]
Queue = Annotated[str, typer.Option("--queue", "-q", help="Into this queue.")]
TimeLimit = Annotated[
    str, typer.Option(metavar="FSD", help="It is ended after 30s, 5m, 1.5h; without a unit seconds.")
]
Minutes = Annotated[str, typer.Option("-t", metavar="FSD", help="The same; without a unit minutes, as Flux.")]
Urgency = Annotated[str, typer.Option(metavar="0-31", help="31 first, 0 held; also hold, default, expedite.")]
JobName = Annotated[str, typer.Option(help="Its name, in place of the program's.")]
Dependency = Annotated[list[str] | None, typer.Option(help="As in afterok:JOB; may be repeated.")]
Cwd = Annotated[str, typer.Option(metavar="DIR", help="The working directory.")]
Env = Annotated[
    list[str] | None,
    typer.Option(metavar="RULE", help="NAME=VALUE, PATTERN, -PATTERN or ^FILE; may be repeated."),
]
Input = Annotated[str, typer.Option("--input", metavar="FILE", help="Standard input of the tasks.")]
OutputFile = Annotated[
    str,
    typer.Option("--output", metavar="FILE", help="For standard output; {{id}} is replaced."),
]
ErrorFile = Annotated[str, typer.Option("--error", metavar="FILE", help="The same for standard error.")]
LabelIo = Annotated[bool, typer.Option("--label-io", "-l", help="The task's rank before each line there.")]
ShellOptions = Annotated[
    list[str] | None,
    typer.Option("--setopt", "-o", metavar="NAME[=VALUE]", help="Of Flux's shell."),
]
Attributes = Annotated[
    list[str] | None, typer.Option("--setattr", "-S", metavar="NAME[=VALUE]", help="A job attribute.")
]
Cc = Annotated[
    str,
    typer.Option("--cc", metavar="IDSET", help="A job for each id, such as 0-9, which replaces {cc}."),
]
Batch = Annotated[
    bool, typer.Option("--batch", help="COMMAND is a script here: it runs in an instance of its own.")
]
Wait = Annotated[bool, typer.Option("--wait", help="Wait until it ends, and end with its exit code.")]
Watch = Annotated[bool, typer.Option("--watch", help="The same, and show its output.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="Print no id.")]
