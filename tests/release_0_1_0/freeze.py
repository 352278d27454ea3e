"""Writes `data/` anew, but for the surface: what release 0.1.0 rendered, stored, dumped and computed.

`python -m tests.release_0_1_0.freeze` was run once, on the revision of that release. Run on a later one it
would make the tests beside it prove nothing.
"""

from __future__ import annotations

import json
import re
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from tests.release_0_1_0 import adapters, commands, dumped, scenes, site, stored
from tests.release_0_1_0.adapters import DATA

RENDERED = ("archive", "autoscaling", "bursting", "hello-world", "malleable", "services")
BY_COMMAND = ("hello-world",)
ACME = ("acme-share", "acme-promise", "acme-order")
SIMULATED = ("charm:gap=90", "apgas:share=0.5", "lublin:jobs=150,load=1.0,total=64,elastic=0.5")


def main() -> None:
    """Write everything."""
    zips()
    for name in ("pods-interactive", "pods-command"):
        pods(name)
    for name in RENDERED:
        rendered(name)
    for name in BY_COMMAND:
        by_command(name)
    stored.write(scenes.all_saved())
    with tempfile.TemporaryDirectory(prefix="mcf-", dir="/tmp") as folder:
        here = commands.Commands(Path(folder) / "m", site.with_plugins(Path(folder) / "site", "acme"))
        (DATA / "acme.txt").write_text(here.good("acme", "--gap", 0))
        simulations(here)
        local_state_and_dump(here, Path(folder))


def zips() -> None:
    """Write the two zips, once."""
    for name, data in adapters.pod_files((DATA / "documents/pods-interactive.yaml").read_text()).items():
        if name in adapters.ZIPS:
            (DATA / name).write_bytes(data)


def rendered(name: str) -> None:
    """Write all objects of a document; files that are in `data` as well by their names."""
    text = (DATA / "documents" / f"{name}.yaml").read_text()
    items = [stored.without_files(each) for each in adapters.planned(text)]
    (DATA / "objects" / f"{name}.yaml").write_text(adapters.to_yaml(items))


def by_command(name: str) -> None:
    """Write what `minicluster render` prints, without the start script's text."""
    document = DATA / "documents" / f"{name}.yaml"
    shown = subprocess.check_output([*adapters.program(), "render", str(document)], text=True)
    script = re.compile(r"^  start\.sh: \|\n(?:    .*\n|\n)*", re.MULTILINE)
    (DATA / "objects" / f"{name}.command.yaml").write_text(script.sub("  start.sh: '…'\n", shown))


def pods(name: str) -> None:
    """Write the files that pods find in their ConfigMap."""
    folder = DATA / "pods" / name.removeprefix("pods-")
    folder.mkdir(parents=True, exist_ok=True)
    for file, data in adapters.pod_files((DATA / "documents" / f"{name}.yaml").read_text()).items():
        if file not in adapters.ZIPS:
            (folder / file).write_bytes(data)


def simulations(here: commands.Commands) -> None:
    """Write the outcomes of all policies."""
    found: dict[str, Any] = {}
    policies = [row["name"] for row in here.rows("policies")]
    assert set(ACME) < set(policies)
    for workload in SIMULATED:
        words = [f"--policy={each}" for each in policies]
        rows = here.rows("simulate", "--workload", workload, *words, "--seeds", 1)
        found[workload] = {"policies": policies, "rows": rows}
    text = json.dumps(found, separators=(",", ":"))
    (DATA / "simulations.json").write_text(text.replace("},{", "},\n{") + "\n")


def local_state_and_dump(here: commands.Commands, folder: Path) -> None:
    """Write state.json and the list of files of a cluster of this machine, and the dump that it leaves."""
    dumped.bring_up(here, folder)
    root = folder / "m" / "mc"
    state = json.loads((root / "state.json").read_text())
    state |= {"pid": 1, "start_time": 1, "created": 1e9, "document": "/home/user/mc.yaml"}
    (DATA / "local" / "state.json").write_text(json.dumps(state, indent=1) + "\n")
    files = sorted(each.relative_to(root).as_posix() for each in root.rglob("*"))
    (DATA / "local" / "files.txt").write_text("\n".join(files) + "\n")
    dumped.fill(here)
    file = DATA / "dumps" / "embedded.dump"
    file.unlink(missing_ok=True)
    here.good("down", "mc", "--dump", file)
    file.chmod(0o644)
    dumped.bring_up(here, folder, "--restore", file)
    (DATA / "dumps" / "embedded.json").write_text(json.dumps(dumped.listed(here), indent=1) + "\n")
    here.good("down", "mc")


if __name__ == "__main__":
    main()
