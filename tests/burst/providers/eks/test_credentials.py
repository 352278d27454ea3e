"""Credentials of an administrator, and how a cluster of EKS knows by them who is asking."""

from __future__ import annotations

import base64
import os
from typing import TYPE_CHECKING

import pytest

from burst.errors import AccessDenied, RetryLater
from burst.providers.eks.clients import AwsClients
from burst.providers.eks.groups import EksGroups
from burst.rehearsal.eks_account import KEY, SECRET
from burst.rehearsal.eks_tokens import signer
from tests.burst.providers.eks_world import MACHINE

if TYPE_CHECKING:
    from pathlib import Path

    from tests.burst.providers.eks_world import EksWorld

PROGRAM = "[default]\ncredential_process = touch ran\n"
REFUSED = {
    "absent": (None, r"credentials file \S+ cannot be read: No such file or directory"),
    "program": (PROGRAM, r"profile default: `credential_process` runs a program, which is refused"),
    "no-ini": (
        "aws_secret_access_key = abc",
        r"credentials file \S+ is not of the form of ~/.aws/credentials$",
    ),
    "no-profile": ("[other]\naws_access_key_id = A\naws_secret_access_key = b\n", r"profile \(default\)"),
    "half": ("[default]\naws_access_key_id = A\n", "Partial credentials found"),
    "empty": ("[default]\n", "Unable to locate credentials; settings credentialsFile and profile"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_credentials_that_cannot_be_used_are_a_problem_in_words(
    world: EksWorld, tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    text, words = REFUSED[name]
    path = tmp_path / "credentials"
    if text is not None:
        path.write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    settings = world.account.settings([MACHINE], credentialsFile=str(path))
    groups = EksGroups("eks", settings, AwsClients("eu-central-1", path, "", world.account.server.url))
    with pytest.raises(AccessDenied, match=words):
        groups.get(world.wanted)
    assert not (tmp_path / "ran").exists()


def test_the_secret_of_a_broken_file_is_in_no_message(world: EksWorld, tmp_path: Path) -> None:
    path = tmp_path / "credentials"
    path.write_text("aws_secret_access_key = a-secret")
    with pytest.raises(AccessDenied) as raised:
        AwsClients("eu-central-1", path).client("eks")
    assert "a-secret" not in f"{raised.value} {raised.value.__cause__}"
    assert world.cloud.calls == []


def test_a_profile_of_the_file_is_used(world: EksWorld, tmp_path: Path) -> None:
    path = tmp_path / "credentials"
    path.write_text(f"[burst]\naws_access_key_id = {KEY}\naws_secret_access_key = {SECRET}\n")
    clients = AwsClients("eu-central-1", path, "burst", world.account.server.url)
    assert signer(clients.token("far"), "far", {KEY: SECRET}) == KEY


def test_new_keys_in_the_file_are_used_by_the_next_call(world: EksWorld, tmp_path: Path) -> None:
    """As after credentials have expired: the service is not started anew."""
    path = tmp_path / "credentials"
    clients = AwsClients("eu-central-1", path, "", world.account.server.url)
    for number, key in enumerate(("AKIAOLD", "AKIANEW")):
        path.write_text(f"[default]\naws_access_key_id = {key}\naws_secret_access_key = {SECRET}\n")
        os.utime(path, (number, number))
        assert signer(clients.token("far"), "far", {key: SECRET}) == key
        assert clients.client("eks") is clients.client("eks")


def test_a_token_is_signed_for_one_cluster(world: EksWorld) -> None:
    token = world.account.groups(world.account.settings([MACHINE])).token()
    assert signer(token, "far", {KEY: SECRET}) == KEY
    assert signer(token, "near", {KEY: SECRET}) == ""
    assert signer(token, "far", {KEY: "another"}) == ""
    assert signer(token, "far", {"AKIAOTHER": SECRET}) == ""
    assert world.cloud.calls == []


def test_a_token_has_the_address_of_sts_in_the_region_and_no_secret(world: EksWorld) -> None:
    token = world.account.groups(world.account.settings([MACHINE])).token()
    prefix, _, text = token.partition(".")
    url = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode()
    assert prefix == "k8s-aws-v1"
    assert url.startswith("https://sts.eu-central-1.amazonaws.com/?Action=GetCallerIdentity")
    assert SECRET not in url


def test_the_api_server_is_where_the_cloud_reports_it(world: EksWorld) -> None:
    groups = world.account.groups(world.account.settings([MACHINE]))
    found = groups.endpoint()
    assert (found.server, found.authority) == ("https://far.eks.example.org", "")


def test_a_server_that_does_not_answer_may_be_asked_again(world: EksWorld) -> None:
    settings = world.account.settings([MACHINE])
    clients = AwsClients(settings.region, settings.credentials_file, endpoint="http://127.0.0.1:1")
    with pytest.raises(RetryLater, match="Could not connect to the endpoint URL"):
        EksGroups("eks", settings, clients).get(world.wanted)
