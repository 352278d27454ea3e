"""Write the plain manifests and the chart's files: `python -m deploy.render` from the project's root.

The chart is the one source of the manifests, but of the CRD's. The records of minicluster.document are that
of the CRD, and metrics_api.names that of the metrics that the role `view` may read. helm is the one on PATH,
else built from the version pinned for the tests.
"""

import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from metrics_api.names import METRICS
from minicluster.document import crd_yaml
from tests.devcluster import MissingProgramsError
from tests.devcluster.lookup import HELM, locate

HERE = Path(__file__).resolve().parent
CHART = HERE / "helm" / "minicluster-operator"
RELEASE = "minicluster-operator"
NAMESPACE = "minicluster-system"
# Marks of Helm, untrue of what kubectl applies.
MARKS = re.compile(r"^ *(helm\.sh/chart|app\.kubernetes\.io/managed-by): .*\n|^# Source: .*\n", re.MULTILINE)
DIVIDER = re.compile(r"^---\n", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Manifest:
    """A file of plain manifests: what it is for, and the chart's values that it is made with."""

    name: str
    purpose: str
    values: tuple[str, ...] = ()

    @property
    def path(self) -> Path:
        """Where it is kept."""
        return HERE / "manifests" / self.name

    def text(self, helm: Path) -> str:
        """Render the file; raises CalledProcessError where helm refuses the chart."""
        values = [word for value in ("crd.install=false", *self.values) for word in ("--set", value)]
        documents = DIVIDER.split(MARKS.sub("", template(helm, "--namespace", NAMESPACE, *values)))
        parts = [self.head(), *(document.strip("\n") for document in documents if document.strip())]
        return "\n---\n".join(parts) + "\n"

    def head(self) -> str:
        """Return the comment on top, and the namespace, which a chart leaves to `helm --create-namespace`."""
        return HEAD.format(purpose=self.purpose, namespace=NAMESPACE)


HEAD = """\
# {purpose}
# Generated from the chart by `python -m deploy.render`: do not edit.
apiVersion: v1
kind: Namespace
metadata:
  name: {namespace}
  labels:
    pod-security.kubernetes.io/enforce: restricted"""

# Not in the other manifests: with the definition Kubernetes deletes every MiniCluster.
CRD_HEAD = """\
# What a MiniCluster is. Deleting this file's object deletes every MiniCluster, with its jobs.
# Generated from minicluster.document by `python -m deploy.render`: do not edit.
"""
MANIFESTS = (
    Manifest("install.yaml", "The operator for the MiniClusters of all namespaces."),
    Manifest(
        "namespaced.yaml",
        "The operator for the MiniClusters of one namespace, `default`, without rights in any other.",
        ("watchNamespaces={default}", "metricsAdapter.enabled=false"),
    ),
)


def template(helm: Path, *options: str) -> str:
    """Render the chart."""
    argv = [str(helm), "template", RELEASE, str(CHART), *options]
    return subprocess.run(argv, check=True, stdout=subprocess.PIPE, text=True).stdout


def files() -> dict[Path, str]:
    """Return the texts that are made without the chart: of its files, and of the CRD's manifest."""
    return {
        HERE / "manifests" / "crd.yaml": CRD_HEAD + crd_yaml(),
        CHART / "files" / "crd.yaml": crd_yaml(),
        CHART / "files" / "metrics.yaml": "".join(f"- {metric.name}\n" for metric in METRICS),
    }


def main() -> None:
    """Write all files, those that need no helm first, and name each."""
    for path, text in files().items():
        _write(path, text)
    program = helm("deploy/manifests")
    for manifest in MANIFESTS:
        _write(manifest.path, manifest.text(program))


def helm(purpose: str) -> Path:
    """Return the path of helm; where there is none, end with what needs it."""
    try:
        return locate(HELM)["helm"]
    except MissingProgramsError as error:
        sys.exit(f"{purpose} needs helm: put it on PATH, or Go, which builds it; {error}")


def _write(path: Path, text: str) -> None:
    path.write_text(text)
    print(f"wrote {path.relative_to(HERE.parent)}", flush=True)


if __name__ == "__main__":
    main()
