"""The options of `minicluster simulate`."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

PolicyOption = Annotated[
    list[str],
    typer.Option(
        metavar="POLICY",
        help="With settings as in priority-elastic:gap=60, or a class in a file, FILE.py:CLASS; repeat it to"
        " compare.",
    ),
]
WorkloadOption = Annotated[
    str,
    typer.Option(
        metavar="WORKLOAD",
        help="charm, apgas, elastisim, lublin or scanflow, with settings as in charm:gap=180; or a file:"
        " FILE.swf, FILE.swf.gz, FILE.json.",
    ),
]
SourceOption = Annotated[
    str,
    typer.Option(
        "--from",
        metavar="NAME|DUMP",
        help="In place of --workload: the jobs that a cluster has run, or those in a dump of it.",
    ),
]
SeedsOption = Annotated[int, typer.Option(min=1, metavar="N", help="So many job sets of a generator.")]
FirstSeedOption = Annotated[int, typer.Option(min=0, metavar="SEED", help="The first of them.")]
UnitsOption = Annotated[
    int, typer.Option(min=0, metavar="UNITS", help="Another size of the cluster than the workload's.")
]
SimulatedPlacementOption = Annotated[
    str,
    typer.Option(
        metavar="PLACEMENT",
        help="Which cores of its nodes a job gets, with settings as in balanced:cores=emptiest, in place of"
        " the workload's own.",
    ),
]
SimulatedNodesOption = Annotated[
    int, typer.Option(min=0, metavar="N", help="Run the workload on so many nodes; its units are cores.")
]
SimulatedDomainsOption = Annotated[
    int, typer.Option(min=0, metavar="D", help="Memory domains of each node; by default one.")
]
SimulatedCoresOption = Annotated[int, typer.Option(min=0, metavar="C", help="Cores of each memory domain.")]
OversizedOption = Annotated[
    Literal["refuse", "skip", "clip"],
    typer.Option(
        help="Jobs that need more units than there are: an error, left out, or given all units there are."
    ),
]
EstimatesOption = Annotated[
    Literal["told", "learned", "none"],
    typer.Option(help="Whether policies are told run times, or learn them from progress."),
]
ErrorOption = Annotated[
    float, typer.Option(min=0, max=0.99, metavar="SHARE", help="By how much those are off, each way.")
]
RefusalsOption = Annotated[
    float, typer.Option(min=0, max=0.99, metavar="SHARE", help="So many orders to resize are refused.")
]
MtbfOption = Annotated[
    float, typer.Option(min=0, metavar="SECONDS", help="A unit fails so often on average; 0: none does.")
]
RepairOption = Annotated[
    float, typer.Option(min=0, metavar="SECONDS", help="After so long a failed unit is back.")
]
CheckpointOption = Annotated[
    float,
    typer.Option(
        min=0, metavar="SECONDS", help="How often jobs save their work; 0: they begin from nothing."
    ),
]
PreemptingOption = Annotated[
    float,
    typer.Option(min=0, metavar="SECONDS", help="How long a job writes its work when it is preempted."),
]
RestartOption = Annotated[float, typer.Option(min=0, metavar="SECONDS", help="What beginning again takes.")]
RowsOption = Annotated[
    Literal["", "runs", "policies"],
    typer.Option(
        metavar="[runs|policies]",
        help="A row a run, or one a policy with its spread over the seeds. By default JSON has runs, and the"
        " table policies.",
    ),
]
ProcessesOption = Annotated[
    int, typer.Option("--jobs", "-j", min=0, metavar="J", help="Processes; 0: one a core.")
]
ReportOption = Annotated[str, typer.Option(metavar="FILE.html", help="Write a page with charts.")]
CsvOption = Annotated[str, typer.Option(metavar="FILE.csv", help="Write a row a job.")]
ParquetOption = Annotated[str, typer.Option(metavar="FILE.parquet", help="Write a row a job.")]
