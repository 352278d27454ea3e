"""The burst service's chart, rendered with what it needs."""

import functools
import subprocess
from pathlib import Path

from deploy.render import template
from tests.deploy.files import BURST_CHART, Object, objects, the

NAME = "minicluster-burst"
NEEDED = ("settings.providers[0].name=far", "settings.providers[0].kind=memory")
"""Values without which there is no release."""
POSTGRESQL = "database.postgresql.secretName=db"
RESEARCH = ("kubeconfigs[0].name=research", "kubeconfigs[0].secret=research-kubeconfig")


def options(*values: str) -> list[str]:
    """Return the words of a command line that set values."""
    return ["--namespace", "site", *(word for value in values for word in ("--set", value))]


def rendered(helm: Path, *values: str, needed: tuple[str, ...] = NEEDED) -> list[Object]:
    """Return the objects of a release."""
    return objects(_text(helm, *needed, *values))


@functools.cache
def _text(helm: Path, *values: str) -> str:
    return template(helm, *options(*values), chart=BURST_CHART)


def refusal(helm: Path, *values: str) -> str:
    """Return what helm writes as it refuses values."""
    argv = [str(helm), "template", NAME, str(BURST_CHART), *options(*values)]
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
