"""Reads a scenario: YAML, all problems at once, each with path and line, and the files that it names."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from burst.errors import SettingsInvalid
from burst.rehearsal.drawn_jobs import JobSubmission, drawn, listed
from burst.rehearsal.scenario import MAX_JOBS, Scenario, ScenarioJobs
from burst.settings import file as settings_file
from burst.settings import problems as texts
from minicluster import document
from minicluster.document import DocumentError
from queue_policies.errors import PolicyError
from queue_policies.plugins import load as load_policy

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path as File

    from burst.settings.file import SettingsFile
    from minicluster.document import MiniCluster
    from minicluster.document.errors import Problem
    from minicluster.document.positions import Located, Path
    from queue_policies.policy import Policy


@dataclass(frozen=True, slots=True)
class ScenarioFile:
    """A scenario, with what its files have."""

    scenario: Scenario
    cluster: MiniCluster
    settings: SettingsFile
    policy: Policy
    """Starts jobs."""
    submissions: tuple[JobSubmission, ...]
    """By time."""

    @property
    def begin(self) -> float:
        """When it begins, in seconds since 1970."""
        return datetime.strptime(self.scenario.begin, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC).timestamp()


def load(path: File) -> ScenarioFile:
    """Return the scenario of a file. Raises SettingsInvalid, also where it cannot be read."""
    return parse(settings_file.text_of(path), path.parent, source=str(path))


def parse(text: str, folder: File, *, source: str = "") -> ScenarioFile:
    """Return the scenario of a text that names files in a folder. Raises SettingsInvalid."""
    found = settings_file.located(text, source=source)
    scenario = settings_file.record_of(found, Scenario, source=source)
    return _Reader(scenario, found, folder, source).read()


@dataclass(frozen=True, slots=True)
class _Reader:
    scenario: Scenario
    located: Located
    folder: File
    source: str

    def read(self) -> ScenarioFile:
        problems: list[Problem] = []
        parts: list[Any] = []
        for part in (self._cluster, self._settings, self._policy, self._submissions):
            try:
                parts.append(part())
            except SettingsInvalid as error:
                problems += error.problems
        if not problems:
            found = ScenarioFile(self.scenario, *parts)
            problems += self._broken({each.name for each in found.settings.settings.providers})
        if problems:
            raise SettingsInvalid(problems)
        return found

    def _problem(self, path: Path, message: str) -> Problem:
        return texts.located(path, message, self.located, self.source)

    def _cluster(self) -> MiniCluster:
        wanted = self.scenario.cluster
        if wanted.document:
            if wanted.slots or wanted.bursting is not None:
                refusal = "right is either a document, or `slots` and `bursting`"
                raise SettingsInvalid([self._problem(("cluster", "document"), refusal)])
            return self._of_document(self.folder / wanted.document)
        if not wanted.slots or wanted.bursting is None:
            refusal = "it needs a document, or `slots` and `bursting`"
            raise SettingsInvalid([self._problem(("cluster",), refusal)])
        if wanted.nodes is None:
            refusal = "missing; without a document it is needed"
            raise SettingsInvalid([self._problem(("cluster", "nodes"), refusal)])
        written = self.located.value["cluster"]
        spec = {
            "size": max(wanted.nodes, 1),
            "interactive": True,
            "flux": {"bursting": {"clusters": written["slots"]}},
            "bursting": written["bursting"] or {},
            "containers": [{"image": "rehearsed"}],
        }
        made = {"apiVersion": document.API_VERSION, "kind": document.KIND, "spec": spec}
        made["metadata"] = {"name": wanted.name, "namespace": wanted.namespace}
        try:
            return document.parse(json.dumps(made)).clusters[0]
        except DocumentError as error:
            raise SettingsInvalid(
                [self._problem(("cluster",), f"{each.path}: {each.message}") for each in error.problems]
            ) from None

    def _of_document(self, file: File) -> MiniCluster:
        path = ("cluster", "document")
        try:
            found = document.load(file)
        except OSError as error:
            refusal = f"{file}: cannot be read: {error.strerror or error}"
            raise SettingsInvalid([self._problem(path, refusal)]) from None
        except DocumentError as error:
            raise SettingsInvalid([self._problem(path, str(each)) for each in error.problems]) from None
        if len(found) != 1 or found[0].spec.bursting is None:
            refusal = f"{file}: right is one MiniCluster that has `spec.bursting`"
            raise SettingsInvalid([self._problem(path, refusal)])
        return found[0]

    def _settings(self) -> SettingsFile:
        if isinstance(self.scenario.settings, str):
            return settings_file.load(self.folder / self.scenario.settings)
        return settings_file.checked(self.located.within(("settings",)), source=self.source)

    def _policy(self) -> Policy:
        try:
            return load_policy(self.scenario.cluster.queue_policy)
        except PolicyError as error:
            raise SettingsInvalid([self._problem(("cluster", "queuePolicy"), str(error))]) from None

    def _submissions(self) -> tuple[JobSubmission, ...]:
        queue, found = self.scenario.queue, list[JobSubmission]()
        for each in queue.jobs:
            found += listed(each)
        for each in self._rows():
            found += listed(each)
        if queue.generated is not None:
            found += drawn(queue.generated)
        if not 1 <= len(found) <= MAX_JOBS:
            refusal = f"it has {len(found)} jobs; right are 1 to {MAX_JOBS}"
            raise SettingsInvalid([self._problem(("queue",), refusal)])
        return tuple(sorted(found, key=lambda each: each.at))

    def _rows(self) -> Iterator[ScenarioJobs]:
        """Yield the lines of the CSV file."""
        if not self.scenario.queue.file:
            return
        file = self.folder / self.scenario.queue.file
        rows = csv.DictReader(io.StringIO(settings_file.text_of(file)))
        for row in rows:
            values = {name: _value(text) for name, text in row.items() if name and text}
            try:
                yield ScenarioJobs.model_validate(values, by_alias=True, by_name=False)
            except ValidationError as error:
                [first, *_] = texts.explained(error, ScenarioJobs, self.located.within(()), str(file))
                refusal = f"{file}:{rows.line_num}: {first.path}: {first.message}"
                raise SettingsInvalid([self._problem(("queue", "file"), refusal)]) from None

    def _broken(self, providers: set[str]) -> Iterator[Problem]:
        """Yield what is wrong between fields."""
        there = ", ".join(sorted(providers)) or "none"
        for name in self.scenario.clouds.keys() - providers:
            yield self._problem(("clouds", name), f'no provider is called "{name}"; there are: {there}')
        for index, fault in enumerate(self.scenario.faults):
            if fault.provider not in providers:
                refusal = f'no provider is called "{fault.provider}"; there are: {there}'
                yield self._problem(("faults", index, "provider"), refusal)
            if fault.number is not None and fault.at_seconds:
                yield self._problem(("faults", index), "right is either `number` or `atSeconds`")


def _value(text: str) -> Any:
    """Return what a cell of a table means: a number, true or false, else the text."""
    try:
        return json.loads(text)
    except ValueError:
        return text
