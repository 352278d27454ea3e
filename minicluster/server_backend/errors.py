"""The client's errors as those of an instance, or of a back end."""

from __future__ import annotations

import contextlib
import errno
from typing import TYPE_CHECKING

from minicluster.backends import errors as backend_errors
from minicluster.client import errors
from minicluster.instance.errors import (
    InstanceGone,
    JobInactive,
    JobNotFound,
    NotAllowed,
    RequestRefused,
    SubmitRefused,
)

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextlib.contextmanager
def of_instance(jobid: int | None = None) -> Iterator[None]:
    """Raise the client's errors as those that the port of an instance has for them.

    What is about the login stays as it is.
    """
    try:
        yield
    except errors.JobEnded as error:
        raise JobInactive(jobid or 0) from error
    except errors.NotFound as error:
        if jobid is None:
            raise
        raise JobNotFound(jobid) from error
    except (errors.Conflict, errors.Invalid) as error:
        raise RequestRefused("the service", errno.EINVAL, error.detail) from error
    except errors.Forbidden as error:
        raise NotAllowed("the service", errno.EPERM, error.detail) from error
    except (errors.ServerAway, errors.ServiceFailed) as error:
        raise InstanceGone(str(error)) from error


@contextlib.contextmanager
def of_submit() -> Iterator[None]:
    """Raise what is wrong with a job as SubmitRefused."""
    try:
        with of_instance():
            yield
    except errors.NotFound as error:
        raise SubmitRefused(error.detail) from error
    except RequestRefused as error:
        raise SubmitRefused(str(error.__cause__ or error)) from error


@contextlib.contextmanager
def of_backend(cluster: str = "") -> Iterator[None]:
    """Raise the client's errors as those of a back end, with the same messages."""
    try:
        yield
    except errors.NotFound as error:
        raise backend_errors.NoCluster(
            f"cluster {cluster}: there is none of that name that you may use; `minicluster list --on server`"
        ) from error
    except errors.WrongServer as error:
        raise backend_errors.WrongRequest(str(error)) from error
    except errors.ClientError as error:
        raise backend_errors.BackendError(str(error)) from error
