"""What the operator and its worker for heavy documents send each other, as pickles behind their length."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from minicluster.operator.planned import PlanInputs, Planned, Subject
    from minicluster.plan.objects.fields import Object

HEAD = struct.Struct(">Q")
"""The length of a pickle."""
READY = b"ready\n"
"""The first line of the output, once memory is limited."""


class PlanRequest(NamedTuple):
    """A document to read, or with inputs to plan as well."""

    item: Object
    inputs: PlanInputs | None = None


class PlanAnswer(NamedTuple):
    """What became of a request: one of these is set."""

    subject: Subject | None = None
    planned: Planned | None = None
    problem: str = ""
    """Why the document is not valid, in no more words than a condition may have."""
    unplannable: str = ""
    """Why no plan can be made of a valid document."""
    out_of_memory: bool = False
    """Whether it took more memory than it may. The process ends then."""
    defect: str = ""
    """The traceback of an unexpected exception."""
