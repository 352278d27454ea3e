"""The messages between lead and ranks about a job: the headers of overlay messages, as records.

A record is the JSON object itself, so that nothing has to be converted. Output and input are the message's
body. Every message names its job; messages about a job that has ended are ignored.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, Literal, NotRequired, Protocol, TypedDict, TypeVar, get_args, get_type_hints


class JobMessage(TypedDict):
    """The field that every message has, besides its `type`."""

    job: int


# Lead → rank


class RankLimit(TypedDict):
    """How much CPU time a job may use on one rank, where jobs share cores."""

    cores: float | None
    """In cores; None: no limit."""
    size: int
    """How many cores it has there."""
    ids: list[int]
    """The cores that it has for itself, where an enforcement gives whole ones."""
    order: int
    """The number of this limit among those of the job, which `TasksLimited` repeats."""


class StartTasks(JobMessage):
    """Start tasks: the first ones of a job, or further ones of a job that runs on the rank."""

    type: Literal["exec-start"]
    share: dict[str, Any]  # `RankLaunch.fields`


class SignalTasks(JobMessage):
    """Deliver a signal to every task."""

    type: Literal["exec-signal"]
    signum: int


class KillTasks(JobMessage):
    """End the job's tasks: `signum` now, SIGKILL after the kill timeout."""

    type: Literal["exec-kill"]
    signum: int


class EndTasks(JobMessage):
    """End some tasks: SIGTERM now, SIGKILL after the kill timeout."""

    type: Literal["exec-end"]
    tasks: list[int]


class WriteInput(JobMessage):
    """Write the body to one task, or to all (None); `eof` closes their standard input after it."""

    type: Literal["exec-stdin"]
    task: int | None
    eof: bool
    seq: int  # of this piece, which `InputTaken` repeats


class OutputTaken(JobMessage):
    """The lead took so many bytes of this rank's output."""

    type: Literal["exec-ack"]
    bytes: int


class WriteFile(JobMessage):
    """Append the body, which another rank's task wrote, to the job's output file."""

    type: Literal["exec-file"]
    source: int  # the other rank
    task: int
    stream: str


class FilesComplete(JobMessage):
    """All other ranks are done: no more output for the job's files follows."""

    type: Literal["exec-release"]


class LimitTasks(JobMessage):
    """Let the job use so much CPU time from now on."""

    type: Literal["exec-limit"]
    limit: RankLimit


class BarrierLeft(JobMessage):
    """Every rank is in the PMI barrier; `puts` are those of all ranks."""

    type: Literal["pmi-release"]
    puts: dict[str, str]


# Rank → lead


class TasksStarted(JobMessage):
    """Every task of this rank was started."""

    type: Literal["exec-started"]


class TaskOutput(JobMessage):
    """The body is output of a task; `file`: it belongs into the job's output file."""

    type: Literal["exec-output"]
    task: int
    stream: str
    file: bool


class OutputEnded(JobMessage):
    """A task's stream ended."""

    type: Literal["exec-eof"]
    task: int
    stream: str


class TaskExited(JobMessage):
    """A task ended, and no process has its output pipes open any more."""

    type: Literal["exec-exit"]
    task: int
    status: int  # wait status


class ShellMessage(JobMessage):
    """A log message for the user; the job goes on."""

    type: Literal["exec-log"]
    level: int  # as syslog(3)
    text: str
    component: NotRequired[str]  # the part of Flux's shell whose message it is


class OutputRedirected(JobMessage):
    """A stream of all tasks goes to a file."""

    type: Literal["exec-redirect"]
    tasks: int
    stream: str
    path: str


class JobFailed(JobMessage):
    """The job cannot go on."""

    type: Literal["exec-exception"]
    text: str


class InputTaken(JobMessage):
    """The tasks of this rank took a piece of input, or cannot take it any more."""

    type: Literal["exec-stdin-done"]
    seq: int


class FileWritten(JobMessage):
    """Output of another rank is in the job's output file."""

    type: Literal["exec-file-done"]
    source: int  # the other rank
    bytes: int


class RankWaiting(JobMessage):
    """This rank has no processes of the job any more, but waits for others' output for the job's files."""

    type: Literal["exec-waiting"]


class RankDone(JobMessage):
    """This rank is done with the job; `part` is that of its latest `StartTasks`."""

    type: Literal["exec-done"]
    part: int


class BarrierEntered(JobMessage):
    """All tasks of this rank are in the PMI barrier; `puts` are those of these tasks."""

    type: Literal["pmi-barrier"]
    puts: dict[str, str]


class PmiAborted(JobMessage):
    """A task called PMI_Abort."""

    type: Literal["pmi-abort"]
    code: int
    text: str


class TasksLimited(JobMessage):
    """A limit holds now; `way` is the word for what enforces it."""

    type: Literal["exec-limited"]
    order: int
    way: str


class TasksUsage(JobMessage):
    """What the job has used on this rank since the last such message."""

    type: Literal["exec-usage"]
    seconds: float
    cpu: float  # in seconds of CPU time
    memory: float  # now, of all that the rank's machine has: 0 to 1


ToRank = (
    StartTasks
    | SignalTasks
    | KillTasks
    | EndTasks
    | WriteInput
    | OutputTaken
    | WriteFile
    | FilesComplete
    | BarrierLeft
    | LimitTasks
)
ToLead = (
    TasksStarted
    | TaskOutput
    | OutputEnded
    | TaskExited
    | ShellMessage
    | OutputRedirected
    | JobFailed
    | InputTaken
    | FileWritten
    | RankWaiting
    | RankDone
    | BarrierEntered
    | PmiAborted
    | TasksLimited
    | TasksUsage
)


class SendToLead(Protocol):
    """Sends to the lead, some messages with a body."""

    def __call__(self, message: ToLead, body: bytes | None = None, /) -> None:
        """Send `message`, which is lost where the lead is gone."""


M = TypeVar("M", bound=JobMessage)


@dataclass(frozen=True, slots=True)
class MessageType(Generic[M]):
    """A message's `type` on the wire; its type parameter is the record that handlers of the type receive."""

    name: str


def _type_of(record: type[M]) -> MessageType[M]:
    """Return the type of the messages that have this record, which names it."""
    return MessageType(get_args(get_type_hints(record)["type"])[0])


START = _type_of(StartTasks)
SIGNAL = _type_of(SignalTasks)
KILL = _type_of(KillTasks)
END = _type_of(EndTasks)
STDIN = _type_of(WriteInput)
ACK = _type_of(OutputTaken)
FILE = _type_of(WriteFile)
RELEASE = _type_of(FilesComplete)
PMI_RELEASE = _type_of(BarrierLeft)
LIMIT = _type_of(LimitTasks)

STARTED = _type_of(TasksStarted)
OUTPUT = _type_of(TaskOutput)
EOF = _type_of(OutputEnded)
EXIT = _type_of(TaskExited)
LOG = _type_of(ShellMessage)
REDIRECT = _type_of(OutputRedirected)
EXCEPTION = _type_of(JobFailed)
STDIN_DONE = _type_of(InputTaken)
FILE_DONE = _type_of(FileWritten)
WAITING = _type_of(RankWaiting)
DONE = _type_of(RankDone)
PMI_BARRIER = _type_of(BarrierEntered)
PMI_ABORT = _type_of(PmiAborted)
LIMITED = _type_of(TasksLimited)
USAGE = _type_of(TasksUsage)
