"""A reader of a lead's metrics, with the token for metrics only."""

from __future__ import annotations

import json
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tests.lead.client import Client, until

if TYPE_CHECKING:
    from tests.lead.pods import Pods


class Reader:
    """Reads from the lead API of a MiniCluster on this machine."""

    def __init__(self, cluster: Pods) -> None:
        token = (cluster.secret / "metrics.token").read_text().strip()
        self.client: Client = replace(cluster.lead_api, token=token)

    def get(self, path: str, headers: dict[str, str] | None = None) -> tuple[int, str, str]:
        """The status code, the Content-Type and the text."""
        with closing(self.client.keep()) as connection:
            connection.request("GET", path, headers=self.client.bearer if headers is None else headers)
            answer = connection.getresponse()
            return answer.status, answer.headers["Content-Type"], answer.read().decode()

    def queue(self) -> dict[str, Any] | None:
        """The newest sample; None while there is none."""
        try:
            code, _, text = self.get("/v1/queue")
        except ConnectionError:
            return None
        return json.loads(text) if code == 200 else None

    def until(self, **wanted: float) -> dict[str, float]:
        """Wait for a sample with these values, without `flux_`; all of that sample without labels."""

        def found() -> dict[str, float] | None:
            values = self.values()
            return values if all(values.get(name) == value for name, value in wanted.items()) else None

        try:
            return dict(until(found, f"{wanted}"))
        except (AssertionError, TimeoutError) as error:
            raise AssertionError(f"{error}; last was {self.values()}") from None

    def values(self) -> dict[str, float]:
        """The newest values without labels, by name without `flux_`; nothing while there is no sample."""
        samples = (self.queue() or {"samples": ()})["samples"]
        return {each["name"].removeprefix("flux_"): each["value"] for each in samples if not each["labels"]}

    def value(self, name: str, **labels: str) -> float:
        """One value of the newest sample."""
        samples = (self.queue() or {"samples": ()})["samples"]
        (found,) = [each["value"] for each in samples if (each["name"], each["labels"]) == (name, labels)]
        return float(found)
