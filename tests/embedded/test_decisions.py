"""The decisions of an instance with real processes are on record, and a policy takes the same ones again."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from queue_policies import decision_log, plugins
from queue_policies.records import Grow, Shrink

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[2]
SIZES = [2, 4, 1, 4]


def _resizes(instance: Any, job: str) -> list[int]:
    """The sizes that the job had, in workers."""
    lines = instance.flux("job", "eventlog", "--format=json", job).stdout.splitlines()
    return [
        event["context"]["size"] for event in map(json.loads, lines) if event["name"] == "resource-update"
    ]


def test_every_order_is_on_record_and_given_again(make_instance: Callable[..., Any], tmp_path: Path) -> None:
    """An example program is resized four times for others, and its answer is right."""
    decisions, hold = tmp_path / "decisions", tmp_path / "hold"
    hold.touch()
    instance = make_instance(2)
    instance.config.write_text(
        f'{instance.config.read_text()}[minicluster]\nqueue-policy = "priority-elastic"\n'
        f'decisions = "{decisions}"\n[minicluster.scheduler-settings]\ngap = 0\n'
    )
    instance.up()
    elastic = [f"--setattr=user.elastic.{each}" for each in ("min=1", "max=4", "malleable=true")]
    paths = f"--env=PYTHONPATH={os.pathsep.join([str(ROOT), *filter(None, sys.path)])}"
    command = [sys.executable, str(ROOT / "examples" / "queens" / "queens.py"), "8", f"--hold={hold}"]
    job = instance.flux("submit", "-n2", *elastic, paths, *command).stdout.strip()
    for number, cores in enumerate((2, 3), 1):
        assert instance.flux("run", f"-n{cores}", "--urgency=20", "true").returncode == 0
        expected = SIZES[: 2 * number]
        instance.wait(lambda expected=expected: _resizes(instance, job) == expected, f"sizes {expected}")
    hold.unlink()
    attached = instance.flux("job", "attach", job)
    assert (attached.returncode, "8 queens: 92 ways" in attached.stdout) == (0, True), attached
    lines = decisions.read_text().splitlines()
    actions = [action for line in lines for action in decision_log.decode(line).actions]
    assert [action.size for action in actions if isinstance(action, (Grow, Shrink))] == SIZES
    policy = plugins.load("priority-elastic", {"gap": 0})
    assert list(decision_log.differences(policy, lines)) == []
