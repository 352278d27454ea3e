"""A service's keys for one purpose, as the operator's Secret has them: the present and the former ones.

Who reads the Secret gives it in; this keeps what was in it, and states why there is nothing.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from minicluster.kube_client.errors import ApiError
from minicluster.lead_client.purpose_keys import PurposeKeys

if TYPE_CHECKING:
    import logging
    from collections.abc import Callable

    from minicluster.kube_client.errors import KubernetesError
    from minicluster.kube_client.objects import Object

RETRY_DELAY = 2.0
"""Seconds before the Secret is read again: at least, also if leads refuse the keys more often."""
CHECK_INTERVAL = 60.0
"""Seconds between two reads where nothing happens."""
FORMER_LIFE = 300.0
"""Seconds for which the former keys are shown as well: kubelets renew the leads' files within two minutes."""


class RenewedKeys:
    """The keys in one Secret, named by its namespace and name. Any thread may read them."""

    def __init__(
        self,
        purpose: str,
        secret: tuple[str, str],
        log: logging.Logger,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._purpose = purpose
        self._name = "/".join(secret)
        self._log = log
        self._clock = clock
        self._present: PurposeKeys | None = None
        self._former: tuple[PurposeKeys, float] | None = None
        self.trouble = "the keys for leads have not been read yet"
        """Why there are none, or none that are new; empty: there are."""

    @property
    def current(self) -> tuple[PurposeKeys, ...]:
        """The keys to show, the newest first."""
        present, former = self._present, self._former
        if present is None:
            return ()
        return (present,) if former is None or self._clock() > former[1] else (present, former[0])

    def take(self, item: Object) -> bool:
        """Take in what the Secret has; return whether there are others. Raises LeadKeysError."""
        found = PurposeKeys.of_secret(self._purpose, item)
        self.trouble = ""
        if found == self._present:
            return False
        if self._present is not None:
            self._former = (self._present, self._clock() + FORMER_LIFE)
        self._present = found
        self._log.info("the keys for leads were read from Secret %s", self._name)
        return True

    def miss(self, error: KubernetesError) -> None:
        """Note why the Secret could not be read, or used."""
        missing = isinstance(error, ApiError) and error.status == 404
        why = "is missing: the operator makes it" if missing else f"cannot be used: {error}"
        trouble = f"Secret {self._name} with the keys for leads {why}"
        if trouble != self.trouble:
            self._log.warning("%s", trouble)
        self.trouble = trouble
