"""The errors of the embedded instance, as one tree.

EmbeddedError
├── ConfigurationError     broker.toml, the certificate or a broker option is wrong; names file and key
├── BootError              this broker cannot join or lead: port taken, lead not reached, refused by it
├── StorageFull            job data cannot be written (ENOSPC, EDQUOT, read-only file system)
├── LayoutError            a jobspec and its R do not give a task layout
├── BindingError           a task cannot have the CPUs that it is to be bound to
├── StorageError           the job data in the state directory cannot be opened or read
├── DumpError              a dump that is refused or cannot be written, with the reason
├── SchedulerError         the scheduling policy does not load, or asked for the impossible
├── BrokerUnreachable      no broker at the URI that a client was given
└── RpcError               the answer to one request, with Flux's error number
"""

from __future__ import annotations

import os


class EmbeddedError(Exception):
    """Root of the tree."""


class ConfigurationError(EmbeddedError):
    """The configuration cannot be used; the message names file, key and what would be right."""


class BootError(EmbeddedError):
    """This broker cannot join or lead its instance."""


class StorageFull(EmbeddedError):  # noqa: N818 - named for the state it reports
    """Job data could not be written; the text is the reason given to the user."""


class LayoutError(EmbeddedError):
    """Jobspec and R disagree: no tasks can be laid out."""


class BindingError(EmbeddedError):
    """A task cannot have the CPUs that it is to be bound to."""


class StorageError(EmbeddedError):
    """The job data cannot be opened or read."""


class DumpError(EmbeddedError):
    """A dump is refused or cannot be written; the message has the reason."""


class SchedulerError(EmbeddedError):
    """The scheduling policy does not load, or asked for the impossible."""


class BrokerUnreachable(EmbeddedError):  # noqa: N818 - named for the state it reports
    """The socket named by FLUX_URI is not there or takes no connection."""


class RpcError(EmbeddedError):
    """A request was refused: `errnum` as in errno.h, `text` for the user."""

    def __init__(self, errnum: int, text: str = "") -> None:
        self.errnum = errnum
        self.text = text or os.strerror(errnum)
        super().__init__(self.text)
