"""Write the plain manifests and the chart's files: `python -m deploy.render` from the project's root.

The operator's chart is the one source of the manifests, but of the CRD's. The records of
minicluster.document are that of the CRD, and metrics_api.names that of the metrics that the role `view` may
read. helm is the one on PATH, else built from the version pinned for the tests.
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
REST_CHART = HERE / "helm" / "minicluster-rest"
BURST_CHART = HERE / "helm" / "minicluster-burst"
CHARTS = (CHART, REST_CHART, BURST_CHART)
NAMESPACE = "minicluster-system"
# Marks of Helm, untrue of what kubectl applies.
MARKS = re.compile(
    r"^ *(helm\.sh/chart|app\.kubernetes\.io/managed-by): .*\n|^# Source: .*\n"
    r"|^  annotations:\n    helm\.sh/resource-policy: keep\n",
    re.MULTILINE,
)
KEPT = "helm.sh/resource-policy: keep"
DIVIDER = re.compile(r"^---\n", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Manifest:
    """A file of plain manifests: what it is for, and the chart's values that it is made with."""

    name: str
    purpose: str
    values: tuple[str, ...] = ()
    kept: bool = False  # has what the chart keeps when it is uninstalled; else all but that

    @property
    def path(self) -> Path:
        """Where it is kept."""
        return HERE / "manifests" / self.name

    def text(self, helm: Path) -> str:
        """Render the file; raises CalledProcessError where helm refuses the chart."""
        values = [word for value in self.values for word in ("--set", value)]
        documents = DIVIDER.split(template(helm, "--namespace", NAMESPACE, *values))
        chosen = [each for each in documents if each.strip() and (KEPT in each) is self.kept]
        parts = ([SPACE] if self.kept else []) + [MARKS.sub("", each).strip("\n") for each in chosen]
        return HEAD.format(purpose=self.purpose) + "\n---\n".join(parts) + "\n"


HEAD = """\
# {purpose}
# Generated from the chart by `python -m deploy.render`: do not edit.
"""
# A chart leaves it to `helm --create-namespace`, and keeps it too: the operator's keys are in it.
SPACE = f"""\
apiVersion: v1
kind: Namespace
metadata:
  name: {NAMESPACE}
  labels:
    pod-security.kubernetes.io/enforce: restricted"""
MANIFESTS = (
    Manifest(
        "crd.yaml",
        "What stays when the operator goes: what a MiniCluster is, who may use them, and the namespace with"
        " the operator's\n# keys. Deleting this file's objects deletes every MiniCluster, with its jobs.",
        kept=True,
    ),
    Manifest("install.yaml", "The operator for the MiniClusters of all namespaces. Apply crd.yaml before."),
    Manifest(
        "namespaced.yaml",
        "The operator for the MiniClusters of one namespace, `default`, without rights in any other. Apply"
        " crd.yaml before.",
        ("watchNamespaces={default}", "metricsAdapter.enabled=false"),
    ),
)


def template(helm: Path, *options: str, chart: Path = CHART) -> str:
    """Render a chart, as a release of its own name."""
    argv = [str(helm), "template", chart.name, str(chart), *options]
    return subprocess.run(argv, check=True, stdout=subprocess.PIPE, text=True).stdout


def files() -> dict[Path, str]:
    """Return the texts of the chart's files that are made of something else."""
    return {
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
