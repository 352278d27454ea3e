"""Reads the settings file of a burst service: YAML, all problems at once, each with path and line."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar

from pydantic import BaseModel, ValidationError

from burst.errors import SettingsInvalid
from burst.settings import problems as texts
from burst.settings.records import BurstSettings
from minicluster.document import positions
from minicluster.document.errors import Problem
from minicluster.document.positions import Located

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path as File

    from minicluster.document.positions import Path

R = TypeVar("R", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class SettingsFile:
    """The settings, with where each of them stands."""

    settings: BurstSettings
    document: Located
    source: str = ""
    """The name of the file, for messages."""

    def problem(self, path: Path, message: str) -> Problem:
        """Return a problem of the file at a path, as ("providers", 0, "kind")."""
        return texts.located(path, message, self.document, self.source)

    def part(self, path: Path, record: type[R]) -> R:
        """Return a part of the file as a record. No value of it is quoted: there may be secrets.

        Raises SettingsInvalid.
        """
        value = self.document.within(path).value if self.document.has(path) else {}
        try:
            return record.model_validate(value, by_alias=True, by_name=False)
        except ValidationError as error:
            raise SettingsInvalid(
                texts.explained(error, record, self.document, self.source, above=path, is_private=True)
            ) from None  # the error has the values


def load(path: File) -> SettingsFile:
    """Return the settings of a file. Raises SettingsInvalid, also where it cannot be read."""
    return parse(text_of(path), source=str(path))


def parse(text: str, *, source: str = "") -> SettingsFile:
    """Return the settings of a text; an empty one has no providers. Raises SettingsInvalid."""
    return checked(located(text, source=source), source=source)


def text_of(path: File) -> str:
    """Return the text of a file. Raises SettingsInvalid where it cannot be read."""
    try:
        return path.read_text("utf-8-sig")
    except OSError as error:
        raise SettingsInvalid([_whole(f"cannot be read: {error.strerror or error}", str(path))]) from error
    except UnicodeDecodeError as error:
        raise SettingsInvalid([_whole(f"is not UTF-8: byte {error.start}", str(path))]) from error


def located(text: str, *, source: str = "") -> Located:
    """Return the one document of a text, empty where it has none. Raises SettingsInvalid."""
    documents, problems = positions.read(text)
    if problems:
        raise SettingsInvalid([replace(each, source=source) for each in problems])
    if len(documents) > 1:
        raise SettingsInvalid([_whole(f"has {len(documents)} documents; right would be one", source)])
    document = documents[0] if documents else Located({}, {}, {})
    return replace(document, value={}) if document.value is None else document


def record_of(document: Located, record: type[R], *, source: str = "") -> R:
    """Return a document as a record. Raises SettingsInvalid."""
    try:
        return record.model_validate(document.value, by_alias=True, by_name=False)
    except ValidationError as error:
        raise SettingsInvalid(texts.explained(error, record, document, source)) from None


def checked(document: Located, *, source: str = "") -> SettingsFile:
    """Return the settings that a document has. Raises SettingsInvalid."""
    found = SettingsFile(record_of(document, BurstSettings, source=source), document, source)
    if broken := [found.problem(*each) for each in _broken(found.settings)]:
        raise SettingsInvalid(broken)
    return found


def _whole(message: str, source: str) -> Problem:
    return Problem("", message, source=source)


def _broken(settings: BurstSettings) -> Iterator[tuple[Path, str]]:
    """Yield path and message of what is wrong between fields."""
    names = [each.name for each in settings.providers]
    for index, name in enumerate(names):
        if name in names[:index]:
            message = f'"{name}" is already the name of providers[{names.index(name)}]'
            yield ("providers", index, "name"), message
    for index, budget in enumerate(settings.budgets):
        kind, _, name = budget.scope.partition(":")
        if kind == "provider" and name not in names:
            known = ", ".join(names) or "none"
            yield ("budgets", index, "scope"), f'no provider is called "{name}"; there are: {known}'
