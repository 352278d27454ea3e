"""Whether every answer has the headers that keep browsers safe: an observer of the matrix."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.restful.authorization.matrix import Case
    from tests.restful.authorization.requests import Answer

EVERYWHERE = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "strict-transport-security": "max-age=31536000",
}
KEPT = {"/.well-known/jwks.json"}
"""Whose answers others may keep for a while."""


class AnswerHeaders:
    """What answers lack, or have and should not."""

    def __init__(self) -> None:
        self.wrong: set[str] = set()
        self.statuses: set[int] = set()
        """Of all answers that were checked."""

    def observe(self, case: Case, answer: Answer) -> None:
        """Check one answer."""
        headers = answer.headers
        lacks = [name for name, value in EVERYWHERE.items() if headers.get(name) != value]
        if "no-store" not in headers.get("cache-control", "") and case.key[1] not in KEPT:
            lacks.append("no-store")
        if "frame-ancestors 'none'" not in headers.get("content-security-policy", ""):
            lacks.append("frame-ancestors")
        named = sorted({"server", "x-powered-by"} & set(headers))
        if lacks or named:
            self.wrong.add(f"{' '.join(case.key)}, {case.asker}, {answer.status}: {lacks} {named}")
        self.statuses.add(answer.status)
