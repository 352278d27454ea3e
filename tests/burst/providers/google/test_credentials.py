"""Whose rights are used at Google's clouds, and what is refused before any call."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

import pytest

from burst.errors import AccessDenied, AccountLimitReached, CallInvalid, NoCapacity, ProviderError, RetryLater
from burst.providers.google.api_errors import operation_error, translated
from burst.providers.google.credentials import GoogleAccount
from burst.providers.google.settings import GoogleProject

if TYPE_CHECKING:
    from pathlib import Path

EXTERNAL = {
    "type": "external_account",
    "audience": "//iam.googleapis.com/projects/1/locations/global/workloadIdentityPools/p/providers/q",
    "subject_token_type": "urn:ietf:params:oauth:token-type:jwt",
    "token_url": "https://sts.googleapis.com/v1/token",
}
WRONG = {
    "no file": (None, "credentials file {} cannot be read: No such file or directory"),
    "no JSON": ("key", "credentials file {} is no JSON of a service account: Expecting value"),
    "a list": ("[]", "credentials file {} is no JSON of a service account: 'list' object"),
    "no key": ('{"type": "service_account"}', "credentials file {} is no JSON of a service account: "),
    "a user": (
        '{"type": "authorized_user"}',
        "credentials file {} is of type 'authorized_user', which is refused: right would be a service_acc",
    ),
    "a program": (
        json.dumps({**EXTERNAL, "credential_source": {"executable": {"command": "touch /tmp/x"}}}),
        "credentials file {} runs a program, which is refused: right would be a service_account",
    ),
}


def account(path: Path) -> GoogleAccount:
    return GoogleAccount("cloud", GoogleProject(project="science-1", credentials_file=path))


@pytest.mark.parametrize("name", WRONG)
def test_a_file_that_cannot_be_used_is_refused_with_words(tmp_path: Path, name: str) -> None:
    content, message = WRONG[name]
    path = tmp_path / "key.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(AccessDenied, match=re.escape(message.format(path))):
        account(path).token("science-1/europe-west4")


def test_a_federated_identity_is_read_from_its_file(tmp_path: Path) -> None:
    path = tmp_path / "federated.json"
    source = {"credential_source": {"file": str(tmp_path / "absent")}}
    path.write_text(json.dumps({**EXTERNAL, **source}))
    with pytest.raises(AccessDenied, match=r"was not found.*the credentials are not good any more"):
        account(path).token("science-1/europe-west4")


def test_credentials_are_in_no_text(tmp_path: Path) -> None:
    found = account(tmp_path / "key.json")
    found._credentials = "secret"
    assert "secret" not in repr(found)


class RefusedError(Exception):
    """An error as Google's clients raise them."""

    def __init__(self, code: int, reason: str = "", status: str = "") -> None:
        super().__init__("refused")
        self.code = code
        self.message = f"POST https://compute.googleapis.com/x: {reason or status or 'refused'}"
        self.errors = [{"reason": reason}] if reason else []
        self.response = self
        self._status = status

    def json(self) -> Any:
        return {"error": {"status": self._status}}


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        pytest.param(RefusedError(403, "quotaExceeded"), AccountLimitReached, id="quota"),
        pytest.param(RefusedError(403, "rateLimitExceeded"), RetryLater, id="rate"),
        pytest.param(RefusedError(403, "forbidden"), AccessDenied, id="forbidden"),
        pytest.param(RefusedError(401), AccessDenied, id="unproven"),
        pytest.param(RefusedError(429, "rateLimitExceeded"), RetryLater, id="too many"),
        pytest.param(RefusedError(500), RetryLater, id="server"),
        pytest.param(RefusedError(409), RetryLater, id="conflict"),
        pytest.param(RefusedError(400, status="FAILED_PRECONDITION"), RetryLater, id="busy"),
        pytest.param(RefusedError(400, "invalid"), CallInvalid, id="invalid"),
        pytest.param(RefusedError(404, "notFound"), CallInvalid, id="absent"),
        pytest.param(ConnectionError("closed"), RetryLater, id="lost"),
    ],
)
def test_each_refusal_is_one_error_of_ours(error: Exception, kind: type[ProviderError]) -> None:
    found = translated(error, "science-1/europe-west4")
    assert type(found) is kind
    assert str(found).startswith("science-1/europe-west4: ")
    assert "https://" not in str(found)


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        pytest.param("ZONE_RESOURCE_POOL_EXHAUSTED", NoCapacity, id="stock-out"),
        pytest.param("VM_MIN_COUNT_NOT_REACHED", NoCapacity, id="too few"),
        pytest.param("QUOTA_EXCEEDED", AccountLimitReached, id="quota"),
        pytest.param("PERMISSIONS_ERROR", AccessDenied, id="rights"),
        pytest.param("RESOURCE_NOT_FOUND", CallInvalid, id="absent"),
    ],
)
def test_each_end_of_an_operation_is_one_error_of_ours(code: str, kind: type[ProviderError]) -> None:
    found = operation_error([(code, "why")], "science-1/europe-west4")
    assert type(found) is kind
    assert str(found) == f"science-1/europe-west4: {code}: why"


def test_an_operation_that_went_well_is_no_error() -> None:
    assert operation_error([], "science-1/europe-west4") is None
