"""Logs an election: who leads, and each failure once instead of at every attempt."""

from __future__ import annotations

import logging
from http import HTTPStatus
from typing import TYPE_CHECKING

from minicluster.kube_client.lease_store import VERBS

if TYPE_CHECKING:
    from minicluster.kube_client.errors import ApiError
    from minicluster.kube_client.lease_store import LeaseStore

logger = logging.getLogger(__name__)


class ElectionLog:
    """Logs the part of one process in the election."""

    def __init__(self, identity: str, store: LeaseStore) -> None:
        self.trouble = ""
        """Why the Lease could not be used the last time; empty: it could."""
        self._identity = identity
        self._lease = store
        self._holder = ""

    def stands_by(self) -> None:
        """Log who leads, whenever that changes."""
        holder = self._lease.holder
        if holder not in (self._holder, ""):
            self._holder = holder
            logger.info(
                "%s stands by: %s holds the Lease %s", self._identity, holder, self._lease.namespaced_name
            )

    def refused(self, error: ApiError) -> None:
        """Log that the API server refused a request."""
        if error.status != HTTPStatus.FORBIDDEN:
            self.failed(str(error))
            return
        where, verbs = self._lease.namespace, ", ".join(VERBS)
        needed = f"the service's Role in {where} must allow {verbs} on leases.coordination.k8s.io"
        self.failed(f"{error} ({needed})", logging.ERROR)

    def failed(self, why: str, level: int = logging.WARNING) -> None:
        """Log that an attempt failed, unless the last one failed for the same reason."""
        trouble = f"{self.what_failed()}: {why}"
        if trouble != self.trouble:
            logger.log(level, "%s; it is tried again", trouble)
        self.trouble = trouble

    def worked(self) -> None:
        """Log that an attempt succeeded after one that had failed."""
        if self.trouble:
            logger.info("the Lease %s can be used again", self._lease.namespaced_name)
        self.trouble = ""

    def what_failed(self) -> str:
        """Return the last request as the begin of a message: `cannot update the Lease a/b`."""
        return f"cannot {self._lease.doing} the Lease {self._lease.namespaced_name}"
