"""The pages whose blocks are typed: here, on a cluster, or, for a reason, nowhere."""

from __future__ import annotations

import re
from pathlib import Path

from tests.docs.console import Block, blocks

ROOT = Path(__file__).parents[2]
PAGES = {
    str(path.relative_to(ROOT)): blocks(path.read_text(encoding="utf-8"))
    for path in (
        ROOT / "README.md",
        *sorted((ROOT / "docs").rglob("*.md")),
        ROOT / "CONTRIBUTING.md",
        ROOT / "containers" / "README.md",
        *sorted((ROOT / "deploy" / "helm").glob("*/README.md")),
        ROOT / "examples" / "policy-plugin" / "README.md",
    )
}
ON_A_CLUSTER = {
    ("README.md", "On Kubernetes"),
    ("docs/burst-on-kubernetes.md", ""),
    ("docs/kubernetes.md", ""),
    ("docs/tutorial-kubernetes.md", ""),
}
"""Pages, and headings in them (none: the whole page), whose blocks need a Kubernetes cluster with nodes."""
IMAGE = (
    "needs a published image;"
    " tests/kubernetes/pods/shipped/conftest.py installs the chart with one that is built here"
)
REST_IMAGE = (
    "needs a published image, and a certificate;"
    " tests/kubernetes/pods/shipped/test_rest_api.py installs the chart with what is made here"
)
BURST_IMAGE = (
    "needs a published image, and another cluster;"
    " tests/kubernetes/pods/shipped/test_burst_release.py installs the chart with what is made here"
)
MANIFEST = (
    "needs a published image;"
    " tests/kubernetes/deploy/test_install.py::test_the_api_server_accepts_every_object applies the manifests"
)
REINSTALLED = (
    "needs an operator by manifests; tests/kubernetes/deploy/test_reinstall.py::"
    "test_manifests_that_are_deleted_and_applied_again_find_the_keys types it"
)
BUILDER = "needs docker, or a registry; tests/deploy/test_images.py builds the Dockerfiles with buildah"
OPERATOR = (
    "does not end; tests/kubernetes/operator/test_laptop.py and tests/cli/test_operator.py run the like"
)
NAMES = "has names in capitals where the reader has those of a cluster"
FINALIZER = (
    f"{NAMES}, and is for when no operator runs;"
    " tests/kubernetes/api/test_contract_patches.py::test_nothing_new_is_waited_for_once_a_deletion_has_begun"
    " sends the same patch"
)
BUILDS = "builds or installs: it would make the reader's own .venv"
SUITE = "is what runs this test"
TESTS = "runs tests, as this is one; tests/project/test_links.py looks for the files that it names"
REAL_FLUX = "needs real Flux; tests/lead/test_scheduler.py does the like of it where that is on PATH"
METRIC = (
    f"{NAMES};"
    " tests/kubernetes/metrics/adapter/test_adapter.py::test_of_a_minicluster_and_its_service asks the like"
)
ADAPTER = "is for an adapter that was run by hand without --owner: no test leaves its APIServices"
VERSIONS = (
    "shows a program and an operator of two releases; tests/remote/test_versions.py has each line's parts"
)
MALLEABLE = (
    "needs a queue policy that resizes;"
    " tests/local/test_malleable_applications.py submits programs with these attributes"
)
CLOUD = (
    "needs an account at a cloud; tests/burst/providers/eks/test_documentation.py and"
    " tests/burst/providers/google/test_documentation.py compare what the page has with the provider's,"
    " which other tests there run over what rehearses the cloud"
)
SERVICE_POD = (
    "needs the service of the chart; tests/burst/cli/test_service_pod.py runs these over one that is played"
)
PYTEST = ".venv/bin/python -m pytest -q"
HELM = "helm install minicluster-operator deploy/helm/minicluster-operator"
RESEARCH_KUBECONFIG = (
    "kubectl create secret generic research-kubeconfig --namespace minicluster-system"
    " --from-file=kubeconfig=research.yaml"
)
LONG = "takes minutes; its options are compared with the script's"
NOT_TYPED = {
    ("README.md", "make demo"): BUILDS,
    ("README.md", "make test"): SUITE,
    ("docs/installation.md", "python3 -m venv .venv"): BUILDS,
    ("CONTRIBUTING.md", "make lint"): SUITE,
    ("CONTRIBUTING.md", f"{PYTEST} tests/plan/test_conditions.py"): TESTS,
    ("CONTRIBUTING.md", f"{PYTEST} tests/database/test_migrations.py"): TESTS,
    ("CONTRIBUTING.md", f"{PYTEST} tests/project"): TESTS,
    (
        "CONTRIBUTING.md",
        f"{PYTEST} tests/backends/test_commands.py tests/backends/conformance",
    ): TESTS,
    (
        "CONTRIBUTING.md",
        (
            f"{PYTEST} tests/metrics_api/numbers tests/metrics_api/lead/test_ledger.py"
            " tests/deploy/test_rules.py"
        ),
    ): TESTS,
    ("CONTRIBUTING.md", "POLICY=water-filling"): TESTS,
    ("CONTRIBUTING.md", f"{PYTEST} tests/plan/test_conditions.py tests/plan/test_documentation.py"): TESTS,
    (
        "containers/README.md",
        (
            "docker build -f containers/Dockerfile.operator"
            " -t ghcr.io/flux-framework/minicluster-operator:0.1.0 ."
        ),
    ): BUILDER,
    (
        "containers/README.md",
        "docker build -f containers/Dockerfile.rest-api -t ghcr.io/flux-framework/minicluster-rest:0.1.0 .",
    ): BUILDER,
    (
        "containers/README.md",
        (
            "docker build -f containers/Dockerfile.flux-view --build-arg FLUX_CORE=0.88.0"
            " -t registry.example.com/flux-view:0.88.0 containers"
        ),
    ): BUILDER,
    (
        "containers/README.md",
        (
            "buildah build -f containers/Dockerfile.operator"
            " --build-arg PYTHON=docker.io/library/python:3.11-slim@sha256:... \\"
        ),
    ): BUILDER,
    ("containers/README.md", "make images"): BUILDER,
    (
        "deploy/helm/minicluster-operator/README.md",
        f"{HELM} --namespace minicluster-system --create-namespace",
    ): IMAGE,
    (
        "deploy/helm/minicluster-rest/README.md",
        "(umask 077; head -c 32 /dev/urandom > master.key)",
    ): REST_IMAGE,
    ("deploy/helm/minicluster-burst/README.md", RESEARCH_KUBECONFIG): BURST_IMAGE,
    ("docs/burst-service.md", RESEARCH_KUBECONFIG): BURST_IMAGE,
    ("docs/burst-service.md", "minicluster burst list --on service --context lab"): SERVICE_POD,
    ("docs/bursting-to-clouds.md", "export MINICLUSTER_ON=kubernetes"): CLOUD,
    ("docs/bursting-to-clouds.md", "minicluster burst check eks"): CLOUD,
    (
        "docs/cloud-compute-engine.md",
        "gcloud services enable compute.googleapis.com cloudresourcemanager.googleapis.com",
    ): CLOUD,
    ("docs/cloud-compute-engine.md", "minicluster burst check compute-engine"): CLOUD,
    ("docs/cloud-compute-engine.md", "minicluster burst show BURST"): CLOUD,
    ("docs/cloud-compute-engine.md", "minicluster burst sweep --dry-run"): CLOUD,
    (
        "docs/cloud-eks.md",
        (
            "sed 's/REGION/eu-central-1/; s/ACCOUNT/123456789012/; s/CLUSTER/research/;"
            " s/NODE-ROLE/burst-nodes/' \\"
        ),
    ): CLOUD,
    (
        "docs/cloud-eks.md",
        (
            "sed 's/REGION/eu-central-1/; s/ACCOUNT/123456789012/; s/NODE-ROLE/burst-nodes/;"
            " s/CLUSTER-ROLE/burst-clusters/' \\"
        ),
    ): CLOUD,
    ("docs/cloud-eks.md", "minicluster burst providers"): CLOUD,
    ("docs/cloud-eks.md", "minicluster burst sweep --dry-run"): CLOUD,
    (
        "docs/cloud-gke.md",
        (
            "gcloud services enable container.googleapis.com compute.googleapis.com"
            " cloudresourcemanager.googleapis.com"
        ),
    ): CLOUD,
    ("docs/cloud-gke.md", "minicluster burst check gke"): CLOUD,
    (
        "docs/cloud-gke.md",
        (
            "gcloud container clusters describe mcb-BURST-cluster --location europe-west4-a --format"
            " 'value(status)'"
        ),
    ): CLOUD,
    ("docs/cloud-gke.md", "minicluster burst show BURST"): CLOUD,
    ("docs/cloud-gke.md", "minicluster burst sweep --dry-run"): CLOUD,
    (
        "containers/README.md",
        (
            "docker build -f containers/Dockerfile.burst-service"
            " -t ghcr.io/flux-framework/minicluster-burst:0.1.0 ."
        ),
    ): BUILDER,
    (
        "containers/README.md",
        (
            "docker build -f containers/Dockerfile.burst-service --build-arg REQUIREMENTS=clouds.txt"
            " -t ghcr.io/flux-framework/minicluster-burst:0.1.0 ."
        ),
    ): BUILDER,
    ("docs/rest-on-kubernetes.md", "(umask 077; head -c 32 /dev/urandom > master.key)"): REST_IMAGE,
    ("docs/command-line.md", "minicluster version --on kubernetes -n science"): VERSIONS,
    (
        "docs/installation.md",
        (
            "docker build -f containers/Dockerfile.operator"
            " -t registry.example.com/minicluster-operator:0.1.0 ."
        ),
    ): BUILDER,
    ("docs/installation.md", f"{HELM} --namespace minicluster-system --create-namespace \\"): IMAGE,
    ("docs/installation.md", "kubectl apply --server-side -f deploy/manifests/crd.yaml"): MANIFEST,
    ("docs/installation.md", "kubectl get pods -n minicluster-system"): IMAGE,
    ("docs/installation.md", "kubectl delete -f deploy/manifests/install.yaml"): REINSTALLED,
    (
        "docs/installation.md",
        "helm uninstall minicluster-operator --namespace minicluster-system --wait",
    ): REINSTALLED,
    (
        "docs/metrics.md",
        (
            "kubectl get --raw /apis/custom.metrics.k8s.io/v1beta2/namespaces/NS"
            "/miniclusters.flux-framework.org/NAME/flux_nodes_demanded"
        ),
    ): METRIC,
    (
        "docs/metrics.md",
        (
            "kubectl delete apiservice v1beta1.custom.metrics.k8s.io v1beta2.custom.metrics.k8s.io"
            " v1beta1.external.metrics.k8s.io"
        ),
    ): ADAPTER,
    (
        "docs/operator.md",
        "minicluster operator                        # the namespace of your kubeconfig's context",
    ): OPERATOR,
    (
        "docs/operator.md",
        """kubectl patch mc NAME -n NS --type merge -p '{"metadata": {"finalizers": null}}'""",
    ): FINALIZER,
    (
        "docs/operator.md",
        (
            "kubectl get mc -A -o jsonpath='{range .items[*]}{.metadata.namespace} {.metadata.name}"
            """{"\\n"}{end}' |"""
        ),
    ): FINALIZER,
    (
        "docs/python-api.md",
        (
            "flux submit -n 1 --setattr=user.elastic.min=1 --setattr=user.elastic.max=4"
            " --setattr=user.elastic.malleable=true python3 example.py"
        ),
    ): MALLEABLE,
    ("docs/scheduling.md", "flux module remove sched-simple"): REAL_FLUX,
    (
        "docs/scheduling.md",
        (
            "flux python -c 'import flux; "
            """print(flux.Flux().rpc("minicluster-sched.pending", {"limit": 10}).get_str())'"""
        ),
    ): REAL_FLUX,
    (
        "docs/scheduling.md",
        (
            "python benchmarks/reproduce_priority_elastic.py [--gap S] [--rescale-gap S] [--sets N]"
            " [--policy P] [--legacy] [--json]"
        ),
    ): LONG,
}
"""Blocks that no test types, by page and first line, each with its reason."""


def program(page: str) -> str:
    """Return the first Python program of a page, which its reader has in `example.py`; else an empty text."""
    found = re.search(r"^```python\n(.*?)^```", (ROOT / page).read_text(), re.MULTILINE | re.DOTALL)
    return found[1] if found else ""


def local(page: str) -> list[Block]:
    """Return the blocks of a page that are typed on this machine."""
    return [each for each in _typed(page) if not _is_on_a_cluster(page, each)]


def on_a_cluster(page: str) -> list[Block]:
    """Return the blocks of a page that are typed where a Kubernetes cluster is."""
    return [each for each in _typed(page) if _is_on_a_cluster(page, each)]


def _typed(page: str) -> list[Block]:
    return [each for each in PAGES[page] if (page, each.first) not in NOT_TYPED]


def _is_on_a_cluster(page: str, block: Block) -> bool:
    return bool({(page, ""), (page, block.section)} & ON_A_CLUSTER)
