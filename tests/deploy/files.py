"""What the folders deploy/ and containers/ hold, read for tests."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.manifests import documents

ROOT = Path(__file__).resolve().parents[2]
CHART = ROOT / "deploy" / "helm" / "minicluster-operator"
REST_CHART = ROOT / "deploy" / "helm" / "minicluster-rest"
BURST_CHART = ROOT / "deploy" / "helm" / "minicluster-burst"
CHARTS = (CHART, REST_CHART, BURST_CHART)
CONTAINERS = ROOT / "containers"
INSTALL = ROOT / "deploy" / "manifests" / "install.yaml"
NAMESPACED = ROOT / "deploy" / "manifests" / "namespaced.yaml"
KEPT = ROOT / "deploy" / "manifests" / "crd.yaml"  # what stays when the operator goes
NAMESPACE = "minicluster-system"

Object = dict[str, Any]


def project() -> Object:
    """Read the project's own description."""
    found: Object = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return found


def objects(text: str) -> list[Object]:
    """Parse manifests."""
    return [document for document in documents(text) if document]


def of_kind(found: list[Object], kind: str) -> list[Object]:
    """Choose the objects of a kind."""
    return [item for item in found if item["kind"] == kind]


def the(found: list[Object], kind: str, name: str | None = None) -> Object:
    """Return the one object of a kind, or of a kind and name."""
    [item] = [item for item in of_kind(found, kind) if name in (None, item["metadata"]["name"])]
    return item


def grants(found: list[Object]) -> Iterator[tuple[str, set[str], list[str] | None]]:
    """Yield each resource with its group, the verbs, and the names that these are limited to."""
    for rule in (rule for role in found for rule in role["rules"]):
        for group in rule["apiGroups"]:
            for resource in rule["resources"]:
                yield f"{group}/{resource}", set(rule["verbs"]), rule.get("resourceNames")


def instructions(dockerfile: Path) -> Iterator[tuple[str, str]]:
    """Yield the instructions of a Dockerfile, each its word and the rest on one line."""
    lines = [line for line in dockerfile.read_text().splitlines() if not line.lstrip().startswith("#")]
    for line in re.sub(r"\\\n\s*", "", "\n".join(lines)).splitlines():
        if line.strip():
            word, _, rest = line.partition(" ")
            yield word, rest.strip()
