"""API3:2023, broken object property level authorization: of what is sent and of what is answered."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from jsonschema import Draft202012Validator

from restful.clusters.spec import Tenancy
from tests.restful.authorization.matrix import Case, Matrix
from tests.restful.authorization.routes import ROWS, Kind
from tests.restful.authorization.service import opened
from tests.restful.authorization.users import Asker
from tests.restful.identity.service import within
from tests.restful.owasp.document import Operation, operations, sent_to, shown

if TYPE_CHECKING:
    from pathlib import Path

    from tests.restful.authorization.requests import Answer, Sent

SECRETS = (b"argon2", b"sha256", b"csrf", b"used_by")
SHOWN_ONCE = {("POST", "/v2/me/tokens"), ("POST", "/v2/clients")}
"""Their answers have a secret, which is never shown again."""
EVERYBODY = (Asker.LOGIN, Asker.READER, Asker.OPERATOR, Asker.ADMIN, Asker.CLIENT)


def test_no_body_takes_a_field_that_it_has_not(tmp_path: Path) -> None:
    """So nobody sets what is only to be read: ids, owners, times, roles of oneself."""

    async def work() -> tuple[dict[Any, int], int]:
        async with opened(tmp_path) as here:
            wrong, tried = {}, 0
            for operation in operations(here):
                content = operation.content.get("requestBody", {}).get("content", {})
                if "application/json" not in content or operation.key[1].startswith("/v1"):
                    continue
                asker = Asker.ADMIN if ROWS[operation.key].kind is Kind.ADMIN else Asker.LOGIN
                if ROWS[operation.key].kind is Kind.OPERATE:
                    asker = Asker.OPERATOR
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


class Contract:
    """Whether answers are as the document has them, with no field more."""

    def __init__(self, found: list[Operation], schemas: dict[str, Any]) -> None:
        self._operations = {each.key: each.content for each in found}
        self._schemas = {name: closed(each) for name, each in schemas.items()}
        self._validators: dict[str, Draft202012Validator] = {}
        self.wrong: set[str] = set()
        self.checked: set[Any] = set()

    def observe(self, case: Case, sent: Sent, answer: Answer) -> None:
        """Check one answer."""
        method, path = case.key[0], case.key[1].partition("#")[0]
        operation = self._operations.get((method, path))
        if operation is None or "default" in operation["responses"]:
            return
        response = operation["responses"].get(str(answer.status))
        if response is None:
            self.wrong.add(f"{method} {path}: {answer.status} is not in the document")
            return
        self._check_content(f"{method} {path}, {answer.status}", response.get("content", {}), answer)
        if (method, path) not in SHOWN_ONCE:
            leaked = [each for each in SECRETS if each in answer.body]
            self.wrong |= {f"{method} {path}: {each!r} in the answer" for each in leaked}

    def _check_content(self, where: str, content: dict[str, Any], answer: Answer) -> None:
        media_type = answer.headers.get("content-type", "").partition(";")[0]
        if not answer.body and not content:
            self.checked.add(where)
            return
        if media_type not in content:
            self.wrong.add(f"{where}: {media_type!r} is not in the document")
            return
        self.checked.add(where)
        if where not in self._validators:
            schema = {
                **closed(content[media_type].get("schema", {})),
                "components": {"schemas": self._schemas},
            }
            self._validators[where] = Draft202012Validator(schema)
        if media_type.endswith("json") and content[media_type].get("schema"):
            errors = self._validators[where].iter_errors(answer.json())
            self.wrong |= {f"{where}: {error.json_path} {error.message[:200]}" for error in errors}


def closed(schema: Any) -> Any:
    """Return a schema whose objects have no properties but those that it names."""
    if isinstance(schema, list):
        return [closed(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    found = {name: closed(each) for name, each in copy.copy(schema).items()}
    if "properties" in found and "additionalProperties" not in found:
        found["additionalProperties"] = False
    return found


def test_every_answer_is_as_the_document_has_it(tmp_path: Path) -> None:
    async def work() -> tuple[set[str], set[Any], list[str]]:
        async with opened(tmp_path) as here:
            contract = Contract(operations(here), here.app.openapi()["components"]["schemas"])
            matrix = Matrix(here, Tenancy.SHARED, observe=contract.observe, askers=EVERYBODY)
            keys = [key for key, row in ROWS.items() if not row.kind.startswith("page")]
            mismatches = [each async for each in matrix.mismatches(keys)]
            return contract.wrong, contract.checked, mismatches

    wrong, checked, mismatches = within(work())
    assert sorted(wrong) == []
    assert mismatches == []
    assert len(checked) > 100
