"""The RESTful API's chart, rendered with what it needs."""

import functools
import subprocess
from pathlib import Path

from deploy.render import template
from tests.deploy.files import REST_CHART, Object, objects, the

NAME = "minicluster-rest"
NEEDED = ("url=https://mc.example.org:8443", "masterKey.secretName=master", "tls.secretName=tls")
"""Values without which there is no release."""
PROXY = (*NEEDED[:2], "behindProxy={10.244.0.0/16}", "networkPolicy.clients[0].podSelector.matchLabels.a=b")
"""The same for a service behind a proxy, without a certificate of its own."""
POSTGRESQL = "database.postgresql.secretName=db"
ROUTE = ("httpRoute.enabled=true", "httpRoute.parentRefs[0].name=public")


def options(*values: str) -> list[str]:
    """Return the words of a command line that set values."""
    return ["--namespace", "site", *(word for value in values for word in ("--set", value))]


def rendered(helm: Path, *values: str, needed: tuple[str, ...] = NEEDED) -> list[Object]:
    """Return the objects of a release."""
    return objects(_text(helm, *needed, *values))


@functools.cache
def _text(helm: Path, *values: str) -> str:
    return template(helm, *options(*values), chart=REST_CHART)


def objects_in(helm: Path, namespace: str, *values: str) -> list[Object]:
    """Return the objects of a release behind a proxy, in a namespace that is there."""
    found = rendered(helm, *values, needed=PROXY)
    for each in found:
        if "namespace" in each["metadata"]:
            each["metadata"]["namespace"] = namespace
    return found


def refusal(helm: Path, *values: str) -> str:
    """Return what helm writes as it refuses values."""
    argv = [str(helm), "template", NAME, str(REST_CHART), *options(*values)]
    done = subprocess.run(argv, capture_output=True, text=True, check=False)
    assert done.returncode == 1, done.stdout
    return done.stderr


def pod(found: list[Object]) -> Object:
    """Return the service's pod."""
    spec: Object = the(found, "Deployment", NAME)["spec"]["template"]["spec"]
    return spec


def container(found: list[Object]) -> Object:
    """Return the container that serves."""
    [item] = pod(found)["containers"]
    one: Object = item
    return one


def migration(found: list[Object]) -> Object:
    """Return the container that comes before."""
    [item] = pod(found)["initContainers"]
    one: Object = item
    return one


def environment(one: Object) -> dict[str, str]:
    """Return the variables of a container that have a text."""
    return {each["name"]: each["value"] for each in one["env"] if "value" in each}
