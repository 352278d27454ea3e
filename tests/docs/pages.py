"""The pages whose blocks are typed: here, on a cluster, or, for a reason, nowhere."""

from __future__ import annotations

from pathlib import Path

from tests.docs.console import Block, blocks

ROOT = Path(__file__).parents[2]
PAGES = {
    str(path.relative_to(ROOT)): blocks(path.read_text(encoding="utf-8"))
    for path in (
        ROOT / "README.md",
        *sorted((ROOT / "docs").rglob("*.md")),
        ROOT / "examples" / "policy-plugin" / "README.md",
    )
}
ON_A_CLUSTER = {
    ("README.md", "On Kubernetes"),
    ("docs/kubernetes.md", ""),
    ("docs/tutorial-kubernetes.md", ""),
}
"""Pages, and headings in them (none: the whole page), whose blocks need a Kubernetes cluster with nodes."""
IMAGE = "needs the operator's image, which is not published"
BUILDS = "builds or installs: it would make the reader's own .venv"
SUITE = "is what runs this test"
REAL_FLUX = "needs real Flux; tests/flux types the like of it where that is on PATH"
LONG = "takes minutes; its options are compared with the script's"
NOT_TYPED = {
    ("README.md", "make demo"): BUILDS,
    ("README.md", "make test"): SUITE,
    ("docs/installation.md", "python3 -m venv .venv"): BUILDS,
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
