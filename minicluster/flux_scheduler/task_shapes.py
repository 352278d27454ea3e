"""What a job's user tells of its tasks, as a part of what the job requests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from broker_config.formats.jobspec import parse, read, user_of
from queue_policies.placement.attributes import shape_of, valid_shape_of

if TYPE_CHECKING:
    from broker_config.formats.jobspec import Parsed
    from queue_policies.placement.records import TaskShape


def parsed_with_shape(spec: Any) -> Parsed:
    """Parse a jobspec; what it tells of its tasks is in its resources.

    Raises JobspecError or TaskAttributeError.
    """
    parsed = parse(spec)
    shape = shape_of(user_of(spec), *_counts(parsed))
    return parsed if shape is None else parsed._replace(resources=parsed.resources._replace(shape=shape))


def admitted_shape(spec: Any) -> TaskShape | None:
    """Return what a job's jobspec tells of its tasks; what is invalid tells nothing, as the job runs."""
    return valid_shape_of(user_of(spec), *_counts(read(spec)))


def _counts(parsed: Parsed) -> tuple[int, int]:
    """Return the numbers of tasks and slots; 0 tasks: it depends on what the job gets."""
    return 0 if parsed.tasks_per is not None else parsed.ntasks, parsed.resources.slots_in_all
