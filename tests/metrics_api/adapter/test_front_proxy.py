"""Only the front proxy's word counts about who asks."""

import json
from pathlib import Path
from typing import Any

import pytest

from metrics_api.adapter.errors import AdapterSettingsError
from metrics_api.adapter.front_proxy import identity, of_config_map
from metrics_api.answers.errors import UnauthorizedError
from minicluster.lead_server.routes import Identity
from tests.devcluster.certificates import authority

PROXY = {"subject": ((("organizationName", "x"),), (("commonName", "front-proxy-client"),))}


def config_map(folder: Path, **changes: Any) -> dict[str, Any]:
    """Return what the API server publishes."""
    data = {
        "requestheader-client-ca-file": authority(folder, "front-proxy-ca").file.read_text(),
        "requestheader-allowed-names": '["front-proxy-client"]',
        "requestheader-username-headers": '["X-Remote-User"]',
        "requestheader-group-headers": '["X-Remote-Group"]',
        "requestheader-uid-headers": '["X-Remote-Uid"]',
        "requestheader-extra-headers-prefix": '["X-Remote-Extra-"]',
    }
    given = {name.replace("_", "-"): text for name, text in changes.items()}
    return {"data": {name: text for name, text in {**data, **given}.items() if text is not None}}


def test_who_asks_is_what_the_headers_name(tmp_path: Path) -> None:
    headers = [
        ("x-remote-user", "jane"),
        ("X-Remote-Group", "a"),
        ("X-Remote-Group", "b"),
        ("X-Remote-Uid", "42"),
        ("X-Remote-Extra-Acme.com%2Fproject", "one"),
        ("X-Remote-Extra-acme.com%2fproject", "two"),
        ("X-Remote-Extra-", "nothing"),
        ("Impersonate-User", "root"),
    ]
    found = identity(of_config_map(config_map(tmp_path)), PROXY, headers)
    assert found == Identity("jane", ("a", "b"), "42", (("acme.com/project", ("one", "two")),))


@pytest.mark.parametrize(
    ("certificate", "user"),
    [
        (None, "jane"),
        ({}, "jane"),
        ({"subject": ((("commonName", "somebody"),),)}, "jane"),
        ({"subject": ((("organizationName", "front-proxy-client"),),)}, "jane"),
        (PROXY, ""),
    ],
    ids=["no certificate", "empty", "another name", "name as organization", "nobody"],
)
def test_others_are_nobody(tmp_path: Path, certificate: dict[str, Any] | None, user: str) -> None:
    proxy = of_config_map(config_map(tmp_path))
    with pytest.raises(UnauthorizedError):
        identity(proxy, certificate, [("X-Remote-User", user)])


def test_without_names_every_certificate_of_the_authority_will_do(tmp_path: Path) -> None:
    proxy = of_config_map(config_map(tmp_path, requestheader_allowed_names="[]"))
    assert identity(proxy, {"subject": ((("commonName", "x"),),)}, [("X-Remote-User", "jane")]).user == "jane"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"requestheader_client_ca_file": None}, "aggregation layer is not configured"),
        ({"requestheader_client_ca_file": "nonsense"}, "holds no certificates"),
        ({"requestheader_allowed_names": "x"}, "requestheader-allowed-names is no list of texts"),
        ({"requestheader_group_headers": json.dumps([1])}, "requestheader-group-headers is no list"),
    ],
    ids=["none", "nonsense", "no JSON", "numbers"],
)
def test_what_is_wrong_with_the_config_map_is_reported(
    tmp_path: Path, changes: dict[str, Any], message: str
) -> None:
    with pytest.raises(AdapterSettingsError, match=message):
        of_config_map(config_map(tmp_path, **changes))
