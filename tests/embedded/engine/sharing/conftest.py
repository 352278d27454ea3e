"""A bench whose policy has jobs share cores."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from queue_policies import builtin
from tests.embedded.engine.sharing.enforced import CONFIG, GROUPS
from tests.embedded.engine.sharing.paired import Paired

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from minicluster.embedded.ports import QuotaEnforcement


@pytest.fixture
def make(kit: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Any]]:
    """Make a bench of one node of four cores whose policy has jobs share cores."""
    monkeypatch.setitem(builtin.CLASSES, "paired", f"{Paired.__module__}:Paired")
    made: list[Any] = []

    def bench(enforcement: QuotaEnforcement = GROUPS, **options: Any) -> Any:
        shape = {"nodes": 1, "cores": 4, "config": CONFIG} | options
        made.append(kit.Bench(tmp_path, enforcement=lambda: enforcement, **shape))
        return made[-1]

    yield bench
    for each in made:
        each.engine.close()
