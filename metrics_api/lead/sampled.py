"""One sample of the instance, in the forms in which it is read. Each is made once."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from typing import TYPE_CHECKING

from metrics_api import names
from metrics_api.numbers.exposition import exposition

if TYPE_CHECKING:
    from collections.abc import Sequence

    from metrics_api.numbers.records import Sample

_FLOWING = (names.OLDEST_WAIT, names.QUEUE_OLDEST_WAIT, names.GROUP_OLDEST_WAIT)
"""Metrics that change with time alone."""


class Sampled:
    """Samples made at `when` (seconds since 1970), which was `moment` by the clock for ages."""

    def __init__(self, when: float, moment: float, samples: Sequence[Sample]) -> None:
        self.samples = samples
        self.steady = [each for each in samples if each.name not in _FLOWING]
        self._moment = moment
        time = datetime.fromtimestamp(when, timezone.utc).isoformat(timespec="milliseconds")  # noqa: UP017 - 3.8
        self._sampled = time.replace("+00:00", "Z")
        self._rest = json.dumps([each.encode() for each in samples])
        self._text = ""

    def age(self, now: float) -> float:
        """Return its age in seconds."""
        return max(0.0, now - self._moment)

    def document(self, now: float) -> str:
        """Return the object of /v1/queue, as one line."""
        age = round(self.age(now), 3)
        return f'{{"sampled": "{self._sampled}", "age": {age}, "samples": {self._rest}}}\n'

    def text(self) -> str:
        """Return the text for Prometheus."""
        if not self._text:
            self._text = exposition(self.samples)
        return self._text
