"""`minicluster` as a process: its exit codes, and its errors as messages for users."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import sys
import warnings
from functools import partial
from typing import TYPE_CHECKING

from minicluster.cli import completion
from minicluster.cli.reporting import print_warning

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

OURS = ("minicluster.", "broker_config.", "queue_policies.", "burst.")
"""Errors of these packages, and those below them, are for users: they are shown without a traceback."""
PROGRAM = "minicluster"
GARBAGE = 10_000
"""New objects between two garbage collections: a command's are nearly all modules and classes, which stay."""


def run() -> None:
    """Run the command line, or complete it, and end with its exit code."""
    with _nothing_to_clean_up():
        from minicluster.cli.commands import app
    if sys.argv[1:2] in ([completion.WORDS], [completion.LINE]):
        from minicluster.cli.completion.answers import answer

        _end_with(partial(answer, app, PROGRAM, sys.argv[1:]))
    else:
        _end_with(partial(app, prog_name=PROGRAM))


def run_plugin() -> None:
    """Run `kubectl minicluster`, and end with its exit code."""
    with _nothing_to_clean_up():
        from minicluster.cli.plugin import call
    _end_with(call)


def complete_plugin() -> None:
    """Complete a command line of `kubectl minicluster`: kubectl calls kubectl_complete-minicluster."""
    from minicluster.cli.plugin import complete

    _end_with(complete)


@contextlib.contextmanager
def _nothing_to_clean_up() -> Iterator[None]:
    """Let Ctrl-C end the process at once while modules load."""
    before = signal.getsignal(signal.SIGINT)
    if before is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGINT, before)


def _end_with(program: Callable[[], None]) -> None:
    gc.set_threshold(GARBAGE)
    warnings.showwarning = _show_warning
    try:
        program()
    except KeyboardInterrupt:
        sys.exit(128 + signal.SIGINT)
    except BrokenPipeError:
        sys.exit(128 + signal.SIGPIPE)
    except Exception as error:
        if isinstance(error, OSError) and (_is_closed(1) or _is_closed(2)):
            sys.exit(128 + signal.SIGHUP)  # we wrote to it before the signal came
        if not any(each.__module__.startswith(OURS) for each in type(error).__mro__):
            raise
        sys.exit(_report_error(error))
    finally:
        _flush()


def _show_warning(message: Warning | str, *_: object, **_others: object) -> None:
    print_warning(str(message))


def _flush() -> None:
    """Flush standard output and error; send a closed one to /dev/null, so that the interpreter ends well."""
    for number, stream in enumerate((sys.stdout, sys.stderr), 1):
        try:
            stream.flush()
            is_unread = _is_closed(number)
        except OSError:
            is_unread = True
        if is_unread:
            os.dup2(os.open(os.devnull, os.O_WRONLY), number)


def _is_closed(number: int) -> bool:
    """Whether a descriptor is of a terminal that was closed: it refuses even an empty write."""
    try:
        os.write(number, b"")
    except OSError:
        return True
    return False


def _report_error(error: Exception) -> int:
    """Print an error of ours, and return the exit code for it."""
    from broker_config.formats.printable import printable

    with contextlib.suppress(OSError):  # a terminal that was closed
        for line in str(error).splitlines():
            shown = printable(line)
            print(shown if line.startswith(" ") else f"minicluster: {shown}", file=sys.stderr, flush=True)
    return int(getattr(error, "exit_code", 1))
