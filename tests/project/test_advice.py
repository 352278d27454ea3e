"""What pages, examples and messages advise is right: what would fail, or mean nothing, stands nowhere."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = (
    *("benchmarks", "broker_config", "burst", "containers", "deploy", "docs", "examples"),
    *("metrics_api", "minicluster", "queue_policies", "restful"),
)
SUFFIXES = {".html", ".j2", ".json", ".md", ".py", ".sh", ".toml", ".txt", ".yaml"}
TEXTS = {
    str(path.relative_to(ROOT)): path.read_text(encoding="utf-8")
    for path in (
        *(path for path in ROOT.iterdir() if path.suffix in SUFFIXES or path.name == "Makefile"),
        *(path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.suffix in SUFFIXES),
    )
    if path.is_file()
}
ADVICE = [
    pytest.param(
        r"from PyPI|pip install ['\"]?minicluster",
        "pip install 'minicluster[examples]'",
        id="the package is on no index",
    ),
    pytest.param(
        r"minicluster crd \\?\| kubectl apply (?!--server-side)",
        "minicluster crd | kubectl apply -f -",
        id="kubectl warns of a CRD that was applied on the server's side",
    ),
    pytest.param(
        r"before this (release|version)",
        "Before this release the metric was another one.",
        id="nobody knows which release a page is of",
    ),
]


@pytest.mark.parametrize(("pattern", "wrong"), ADVICE)
def test_it_stands_nowhere(pattern: str, wrong: str) -> None:
    assert re.search(pattern, wrong, re.IGNORECASE)
    assert [name for name, text in TEXTS.items() if re.search(pattern, text, re.IGNORECASE)] == []


def test_the_texts_are_read() -> None:
    assert {"README.md", "Makefile", "docs/installation.md", "examples/queens/minicluster.yaml"} <= set(TEXTS)
