"""Options of the whole test run."""

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let the caller name folders outside of this repository, and have golden files written anew."""
    parser.addoption(
        "--reference-examples",
        metavar="PATH",
        help="folder with the reference operator's example documents; without it their tests are skipped",
    )
    parser.addoption(
        "--kube-context",
        metavar="NAME",
        help="context of your kubeconfig: the Kubernetes tests use that cluster (they create and delete "
        "namespaces and apply the CRD), not a control plane of their own",
    )
    parser.addoption(
        "--golden-write",
        action="store_true",
        help="write the golden files anew from what is rendered now; read the difference before committing",
    )
