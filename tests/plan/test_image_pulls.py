"""What a status advises where an image cannot be pulled."""

from __future__ import annotations

import pytest

from minicluster.plan import BrokerReport, JobReport, Observed, PodReport
from minicluster.plan.status import image_pulls
from tests.plan.test_conditions import condition, decide, pod

# Words of containerd 2.1 and of kubelets 1.36, with other names.
TRIED = 'failed to pull and unpack image "{image}": failed to resolve reference "{image}": {why}'
UNAUTHORIZED = (
    "unexpected status from HEAD request to https://reg.example.com/v2/app/manifests/1: 401 Unauthorized"
)
DENIED = (
    "pull access denied, repository does not exist or may require authorization: server message:"
    " insufficient_scope: authorization failed"
)
SECRETS = {"containers": [{"image": "app", "command": "hostname", "imagePullSecret": "login"}]}


def kubelet(image: str, why: str) -> str:
    return TRIED.format(image=image, why=why)


def create(secret: str, registry: str) -> str:
    return (
        f"`kubectl create secret docker-registry {secret} -n science --docker-server={registry}"
        " --docker-username=USER --docker-password=PASSWORD`"
    )


CASES = [
    pytest.param(
        SECRETS,
        "ErrImagePull",
        kubelet("reg.example.com/app:1", UNAUTHORIZED),
        "the registry refuses the login that Secret login holds, or there is none for it: delete the Secret,"
        f" then {create('login', 'reg.example.com')}; it is tried again",
        id="a login that is refused",
    ),
    pytest.param(
        {**SECRETS, "pod": {"imagePullSecrets": [{"name": "other"}]}},
        "ImagePullBackOff",
        f'Back-off pulling image "localhost:5000/app": ErrImagePull: {kubelet("localhost:5000/app", DENIED)}',
        "the registry refuses the login that Secrets other, login hold, or there is none for it: delete the"
        f" Secret, then {create('other', 'localhost:5000')}; it is tried again",
        id="two Secrets",
    ),
    pytest.param(
        {},
        "ErrImagePull",
        kubelet("docker.io/me/app:1", DENIED),
        "if the image's name is right, its registry wants a login:"
        f" {create('NAME', 'https://index.docker.io/v1/')}, and a new MiniCluster with that name in"
        " spec.pod.imagePullSecrets",
        id="no Secret",
    ),
    pytest.param(
        {},
        "ErrImagePull",
        kubelet("UPPER/app:1", "dial tcp: lookup UPPER: no such host"),
        "see that nodes reach the registry UPPER, by a name that they can look up and with a certificate"
        " that they trust; it is tried again",
        id="a host in capital letters",
    ),
    pytest.param(
        {},
        "ErrImagePull",
        kubelet("me/app:1", DENIED),
        "if the image's name is right, its registry wants a login:"
        f" {create('NAME', 'https://index.docker.io/v1/')}, and a new MiniCluster with that name in"
        " spec.pod.imagePullSecrets",
        id="a repository of Docker Hub",
    ),
    pytest.param(
        {"flux": {"container": {"imagePullSecret": "view"}}},
        "ErrImagePull",
        kubelet("ghcr.io/view:1", "denied: denied"),
        "the registry refuses the login that Secret view holds, or there is none for it: delete the Secret,"
        f" then {create('view', 'ghcr.io')}; it is tried again",
        id="the Secret of the Flux view",
    ),
    pytest.param(
        {},
        "ErrImagePull",
        kubelet("docker.io/library/app:2", "docker.io/library/app:2: not found"),
        "push the image, or make the MiniCluster anew with a name and tag that its registry has",
        id="no such tag",
    ),
    pytest.param(
        {},
        "ErrImagePull",
        kubelet("reg.example.com/app:1", "dial tcp: lookup reg.example.com: no such host"),
        "see that nodes reach the registry reg.example.com, by a name that they can look up and with a"
        " certificate that they trust; it is tried again",
        id="no such registry",
    ),
    pytest.param(
        {},
        "InvalidImageName",
        'Failed to apply default image tag "App:": couldn\'t parse image name "App:"',
        "correct the image's name in a new MiniCluster",
        id="no name",
    ),
    pytest.param(
        {},
        "ErrImageNeverPull",
        'Container image "app" is not present with pull policy of Never',
        "load the image into the nodes, or set imagePullPolicy: IfNotPresent in a new MiniCluster",
        id="never pulled",
    ),
    pytest.param(
        {},
        "ErrImagePull",
        "401 Unauthorized",
        f"if the image's name is right, its registry wants a login: {create('NAME', 'REGISTRY')}, and a new"
        " MiniCluster with that name in spec.pod.imagePullSecrets",
        id="no image in the message",
    ),
]


@pytest.mark.parametrize(("wanted", "reason", "message", "advice"), CASES)
def test_what_to_do(make, wanted, reason, message, advice):
    found = image_pulls.advice(make(wanted), PodReport(0, reason=reason, message=message))
    assert found == f"; what to do: {advice}"


@pytest.mark.parametrize(
    ("reason", "message"),
    [("ErrImagePull", "disk full"), ("ImagePullBackOff", ""), ("FailedMount", "401 Unauthorized"), ("", "")],
)
def test_of_what_is_not_known_nothing_is_advised(make, reason, message):
    assert image_pulls.advice(make(), PodReport(0, reason=reason, message=message)) == ""


REFUSED = PodReport(
    1, scheduled=True, reason="ErrImagePull", message=kubelet("reg.example.com/app:1", UNAUTHORIZED)
)


@pytest.mark.parametrize(
    ("type_", "brokers"), [("Running", None), ("BrokersReady", BrokerReport("0"))], ids=["first", "later"]
)
def test_the_status_has_it(make, keys, now, type_, brokers):
    """Also behind words that were cut."""
    seen = Observed(job=JobReport(parallelism=2, active=2), pods=(pod(0), REFUSED), brokers=brokers)
    message = condition(decide(make, keys, now, seen, wanted={**SECRETS, "size": 2}), type_)["message"]
    assert "hpc-1: ErrImagePull" in message or "1 (ErrImagePull" in message
    assert "; what to do: the registry refuses the login that Secret login holds" in message
