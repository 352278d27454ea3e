"""API3:2023, broken object property level authorization: of what is sent.

What is answered is compared with the document by the matrix: tests/restful/authorization/test_matrix.py.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from tests.restful.authorization.service import opened
from tests.restful.identity.service import within
from tests.restful.owasp.document import asker_of, operations, sent_to, shown

if TYPE_CHECKING:
    from pathlib import Path

    from tests.restful.authorization.requests import Sent


def test_no_body_takes_a_field_that_it_has_not(tmp_path: Path) -> None:
    """So nobody sets what is only to be read: ids, owners, times, roles of oneself."""

    async def work() -> tuple[dict[Any, int], int]:
        async with opened(tmp_path) as here:
            wrong, tried = {}, 0
            for operation in operations(here):
                content = operation.content.get("requestBody", {}).get("content", {})
                if "application/json" not in content or operation.key[1].startswith("/v1"):
                    continue
                asker = asker_of(operation.key)
                sent = await sent_to(here, operation.key, await shown(here, asker))
                for name in ("id", "owner", "is_admin"):
                    body = {**(sent.body if isinstance(sent.body, dict) else {}), name: "x"}
                    answer = await here.ask(_sent_with(sent, body))
                    tried += 1
                    if answer.status != 422 or f"/{name}" not in answer.text:
                        wrong[operation.key, name] = answer.status
            return wrong, tried

    wrong, tried = within(work())
    assert wrong == {}
    assert tried > 30


def _sent_with(sent: Sent, body: dict[str, Any]) -> Sent:
    return replace(sent, body=body)
