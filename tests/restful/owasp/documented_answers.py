"""Whether answers are as the OpenAPI document has them, and show no secret: an observer of the matrix."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from jsonschema import Draft202012Validator

from tests.restful.owasp.document import operations

if TYPE_CHECKING:
    from tests.restful.authorization.matrix import Case
    from tests.restful.authorization.requests import Answer, Sent
    from tests.restful.authorization.service import Everything

SECRETS = (b"argon2", b"sha256", b"csrf", b"used_by")
SHOWN_ONCE = {("POST", "/v2/me/tokens"), ("POST", "/v2/clients")}
"""Their answers have a secret, which is never shown again."""


class DocumentedAnswers:
    """Whether answers are as the document has them, with no field more."""

    def __init__(self, here: Everything) -> None:
        schemas: dict[str, Any] = here.app.openapi()["components"]["schemas"]
        self._operations = {each.key: each.content for each in operations(here)}
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
