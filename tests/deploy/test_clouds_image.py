"""The burst service's image with the clients of clouds, really built: what its own user can do in it.

It is collected with `--prove-bursts` alone: see conftest.py. At first 100 MB of packages are downloaded.
"""

import json
from collections.abc import Iterator

import pytest

from tests.deploy.files import ROOT
from tests.devcluster import MissingProgramsError, builder, image_store, shipped_images
from tests.devcluster.builder import Builder
from tests.devcluster.images import locked
from tests.devcluster.reporting import unavailable

pytestmark = pytest.mark.timeout(1800)
MEGABYTE = 10**6
CLIENTS = "boto3.session, google.cloud.container_v1, google.cloud.compute_v1, google.oauth2.service_account"
KINDS = ("eks", "gke", "compute-engine")
"""Kinds of providers; each has its own name here, and keys that are not there."""
SETTINGS = """\
currency: USD
providers:
- name: eks
  kind: eks
  settings: {region: eu-west-1, cluster: research, namespace: bursts, credentialsFile: /tmp/absent, \
nodeRole: "arn:aws:iam::123456789012:role/nodes", subnets: [subnet-1], machines: &machines \
[{machine: m4, cores: 4, price: "0.40", priceDate: "2026-11-01"}]}
- name: gke
  kind: gke
  settings: {project: lab-1234, location: europe-west4-a, cluster: research, namespace: bursts, \
credentialsFile: /tmp/absent, machines: *machines}
- name: compute-engine
  kind: compute-engine
  settings: {project: lab-1234, region: europe-west4, image: global/images/flux, \
credentialsFile: /tmp/absent, machines: *machines}
"""
IN_FOLDER = 'umask 077 && mkdir /tmp/state && printf %s "$1" >/tmp/state/burst.yaml && shift && exec "$@"'


@pytest.fixture(scope="module")
def opened() -> Iterator[Builder]:
    """The builder, with the image in its store."""
    recipe = shipped_images.burst_service_for_clouds()
    try:
        builder.require()
    except MissingProgramsError as error:
        unavailable(error, what="builder of images")
    folder = image_store.folder() / "builder"
    with locked(folder), builder.opened(folder) as found:
        builder.provide_base(found)
        found.build(recipe.dockerfile, recipe.context, recipe.name, *recipe.options())
        yield found


@pytest.fixture
def name() -> str:
    """The name of the image."""
    return shipped_images.burst_service_for_clouds().name


def size(opened: Builder, name: str) -> int:
    """Return the bytes that an image has besides its base."""
    return int(opened.execute(name, "du", "--summarize", "--bytes", "/opt/minicluster").split()[0])


def test_its_user_has_the_clients_of_all_clouds(opened: Builder, name: str) -> None:
    assert opened.execute(name, "id", "-u") == "65532"
    assert opened.execute(name, "python3", "-c", f"import {CLIENTS}; print('complete')") == "complete"


def test_it_has_what_is_locked_for_clouds(opened: Builder, name: str) -> None:
    """Each in the list of packages, so that what is known about one is found."""
    sbom = json.loads(opened.execute(name, "cat", "/opt/minicluster/share/sbom.cdx.json"))
    listed = {each["name"] for each in sbom["components"]}
    assert {"boto3", "botocore", "google-cloud-compute", "google-cloud-container", "grpcio"} <= listed


def test_it_adds_little_more_than_the_clients(opened: Builder, name: str) -> None:
    """Those take 133 MB, with their compiled files."""
    found = size(opened, name)
    print(f"with the clients of clouds the image has {found / MEGABYTE:.0f} MB besides its base")
    assert found < 320 * MEGABYTE


def test_providers_are_listed_with_what_they_offer(opened: Builder, name: str) -> None:
    words = ("minicluster", "burst", "providers", "--state", "/tmp/state", "--output", "json")
    found = json.loads(opened.execute(name, "sh", "-c", IN_FOLDER, "sh", SETTINGS, *words))
    assert [(each["provider"], each["machine"]) for each in found] == [(kind, "m4") for kind in KINDS]


@pytest.mark.parametrize("kind", KINDS)
def test_a_provider_whose_keys_are_not_there_is_checked_in_words(
    opened: Builder, name: str, kind: str
) -> None:
    words = ("minicluster", "burst", "check", kind, "--state", "/tmp/state")
    listing = f"{IN_FOLDER.replace('exec ', '')} || test $? = 1"
    found = opened.execute(name, "sh", "-c", listing, "sh", SETTINGS, *words)
    missing = f"{kind}: credentials file /tmp/absent cannot be read: No such file or directory"
    assert found.splitlines()[0] == missing


def test_bursts_are_rehearsed_with_the_clients_of_clouds(opened: Builder, name: str) -> None:
    scenario = (ROOT / "examples/burst-rehearsal/clouds.yaml").read_text()
    words = ("minicluster", "burst", "rehearse", "/tmp/state/burst.yaml", "--output", "json")
    found = json.loads(opened.execute(name, "sh", "-c", IN_FOLDER, "sh", scenario, *words))
    assert {each["provider"] for each in found["bursts"]} == {"aws", "google"}
    assert [each["left"] for each in found["clouds"]] == [[], []]
