"""Binding of tasks to CPUs.

A process inherits the CPUs of the thread that starts it. So this thread has the task's CPUs while it starts
one: the task is bound before its program runs, and nothing but the program has to run in it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import TYPE_CHECKING

from minicluster.embedded.errors import BindingError
from minicluster.embedded.execution.cpu_binding import OPTION
from minicluster.embedded.log import WARNING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from minicluster.embedded.execution.cpu_binding import CpuBinding

BindThread = Callable[[Collection[int]], AbstractContextManager[None]]
"""Gives this thread these CPUs in a `with` block. Entering it raises BindingError."""


@contextmanager
def bound_to(cpus: Collection[int]) -> Iterator[None]:
    """Give this thread these CPUs alone. Raises BindingError where it may not have any of them."""
    before = os.sched_getaffinity(0)
    if before == set(cpus):
        yield
        return
    try:
        os.sched_setaffinity(0, cpus)
    except (OSError, ValueError, OverflowError) as error:
        why = getattr(error, "strerror", None) or error
        raise BindingError(f"cannot bind to the CPUs {sorted(cpus)}: {why}") from error
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


class TaskBinder:
    """Binds the tasks that a rank starts, and logs what comes of it."""

    def __init__(self, binding: CpuBinding, bind: BindThread, log: Callable[[str, int, str], None]) -> None:
        self._binding = binding
        self._bind = bind
        self._log = log
        for level, text in binding.messages:
            log(text, level, OPTION)

    @contextmanager
    def bound(self, task: int) -> Iterator[None]:
        """Give this thread a task's CPUs; where it cannot have them, the job's on this rank, or its own."""
        cpus = self._binding.cpus.get(task)
        with ExitStack() as stack:
            for each in (cpus, self._binding.otherwise) if cpus else ():
                try:
                    stack.enter_context(self._bind(each))
                    break
                except BindingError as error:
                    self._log(f"task {task}: {error}", WARNING, OPTION)
            yield
