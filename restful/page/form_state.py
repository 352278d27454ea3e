"""A form as a page shows it: what was filled in, and beside each field what was wrong with it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from restful.errors import HttpProblem
from restful.page.responses import page, sentence, words

if TYPE_CHECKING:
    from collections.abc import Mapping

    from starlette.responses import Response

    from restful.page.forms import SentForm

MAX_SHOWN = 300
"""Characters of a field that are shown again."""


@dataclass(frozen=True, slots=True)
class FormState:
    """A form. One that nobody has sent is empty, and right."""

    values: Mapping[str, str] = field(default_factory=dict)
    chosen: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """Which of the checkboxes with a name are ticked."""
    problem: HttpProblem | None = None

    def value(self, name: str) -> str:
        """Return what a field has."""
        return self.values.get(name, "")

    def ticked(self, name: str, value: str) -> bool:
        """Return whether a checkbox is ticked."""
        return value in self.chosen.get(name, ())

    def error(self, name: str) -> str:
        """Return what is wrong with a field, in sentences; empty if nothing is."""
        errors = self.problem.errors if self.problem is not None else ()
        return " ".join(
            sentence(each.message) for each in errors if each.path.strip("/").partition("/")[0] == name
        )

    @property
    def alert(self) -> list[str]:
        """Return all that is wrong, in sentences."""
        return words(self.problem) if self.problem is not None else []


EMPTY = FormState()


def refused(
    sent: SentForm, problem: HttpProblem, fields: Mapping[str, str] | None = None, several: str = ""
) -> FormState:
    """Return a form that was refused. Passwords are not shown again.

    `fields` are the names of form fields by those that the problem calls them; `several` is the name of
    checkboxes.
    """
    names = fields or {}
    errors = tuple(
        replace(each, path=names.get(each.path.strip("/"), each.path.strip("/"))) for each in problem.errors
    )
    values = {name: value[:MAX_SHOWN] for name, value in sent.texts() if name not in NOT_SHOWN}
    chosen = {several: frozenset(sent.many(several))} if several else {}
    return FormState(values, chosen, HttpProblem(problem.type, problem.detail, errors, problem.headers))


def form_page(template: str, values: Mapping[str, Any], form: FormState = EMPTY) -> Response:
    """Return a page with a form; where that was refused, with the status of its problem."""
    problem = form.problem
    shown = {**values, "form": form}
    return (
        page(template, shown) if problem is None else page(template, shown, problem.status, problem.headers)
    )


NOT_SHOWN = frozenset({"csrf", "current", "new", "again", "password"})
