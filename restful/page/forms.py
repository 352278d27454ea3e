"""Forms that browsers send, and where to go behind a login."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, TypeVar

from pydantic import BaseModel, ValidationError

from restful.errors import FieldError, HttpProblem

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pydantic_core import ErrorDetails
    from starlette.requests import Request

Model = TypeVar("Model", bound=BaseModel)

MEDIA_TYPE = "application/x-www-form-urlencoded"
MAX_FIELDS = 100
_NEXT = re.compile(r"/(?!/)[!-\[\]-~]*")
"""A path of this origin: in printable ASCII, without a second slash first, and without a backslash, which
browsers take for a slash. A tab or a line's end, which they leave out, is none of it."""
MAX_NEXT = 2000
_NUMBER = re.compile(r"-?[0-9]{1,18}")


class SentForm:
    """The fields of a form."""

    def __init__(self, fields: Sequence[tuple[str, str]]) -> None:
        self._fields = fields

    def one(self, name: str) -> str:
        """Return a field's text; empty if it is not there. Raises HttpProblem if it is there twice."""
        found = self.many(name)
        if len(found) > 1:
            raise HttpProblem("malformed", f"the field {name} is there twice")
        return found[0] if found else ""

    def texts(self) -> Sequence[tuple[str, str]]:
        """Return all names and texts."""
        return self._fields

    def many(self, name: str) -> list[str]:
        """Return the texts of fields of the same name, as of checkboxes."""
        return [value for key, value in self._fields if key == name]


async def read(request: Request) -> SentForm:
    """Return the form of a request. Raises HttpProblem "malformed"."""
    stated = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if stated != MEDIA_TYPE:
        raise HttpProblem("malformed", f"a form is sent as {MEDIA_TYPE}")
    fields = [
        (name, value)
        for name, value in (await request.form(max_fields=MAX_FIELDS)).multi_items()
        if isinstance(value, str)
    ]
    if len(fields) > MAX_FIELDS or any("\0" in value for _, value in fields):
        raise HttpProblem("malformed", "the form has too many fields, or a NUL")
    return SentForm(fields)


def validated(
    model: type[Model], values: Mapping[str, object], expected: Mapping[str, str] | None = None
) -> Model:
    """Return what a form means. Raises HttpProblem "invalid" with each field that is not right.

    `expected` has words in place of a regular expression, by the field's name.
    """
    try:
        return model.model_validate(values)
    except ValidationError as error:
        errors = tuple(
            FieldError("/".join(map(str, each["loc"])) or "form", _message(each, expected or {}))
            for each in error.errors(include_url=False, include_input=False)[:20]
        )
        raise HttpProblem("invalid", "", errors) from None


def _message(error: ErrorDetails, expected: Mapping[str, str]) -> str:
    words = expected.get(str(error["loc"][0])) if error["loc"] else None
    if words is not None and error["type"] in {"string_pattern_mismatch", "string_too_short"}:
        return f"needed is {words}"
    return error["msg"].removeprefix("Value error, ")


def require_sure(form: SentForm) -> None:
    """Raise HttpProblem "invalid" unless the box is ticked without which nothing is deleted."""
    if form.one("sure") != "yes":
        raise HttpProblem("invalid", "", (FieldError("sure", "tick the box: this cannot be undone"),))


def days(form: SentForm) -> int:
    """Return the number of days in the field `days`. Raises HttpProblem "invalid"."""
    found = number(form.one("days"))
    if not isinstance(found, int) or found < 1:
        raise HttpProblem("invalid", "", (FieldError("days", "a whole number from 1 on is needed"),))
    return found


def number(text: str) -> int | str:
    """Return the number that a field's text is; any other text as it is, which no model accepts."""
    digits = text.strip()
    return int(digits) if _NUMBER.fullmatch(digits) else digits[:20]


def next_path(text: str) -> str:
    """Return where to go behind a login: a path of this origin, or / in place of anything else."""
    return text if len(text) <= MAX_NEXT and _NEXT.fullmatch(text) else "/"
