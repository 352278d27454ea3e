"""docs/architecture.md has every room, in the order in which `make lint` lets them import each other."""

from __future__ import annotations

import re
import tomllib

from tests.project.sources import PACKAGES, ROOT

PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
ROWS = [
    [room.strip("/").replace("/", ".") for room in re.findall(r"`([\w/]+/)`", cell)]
    for cell in re.findall(r"^\| (`[\w/]+/`[^|]*) \|", PAGE, re.MULTILINE)
]
SHOWN = [room for row in ROWS for room in row]


def _layers() -> list[set[str]]:
    """Return the rooms from the top down, those together that must not import each other."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (found,) = [each for each in settings["tool"]["importlinter"]["contracts"] if each["type"] == "layers"]
    return [set(layer.split(" | ")) for layer in found["layers"]]


def _folders() -> set[str]:
    """Return every package at the top, and in place of `minicluster` those in it."""
    inside = {f"minicluster.{path.parent.name}" for path in (ROOT / "minicluster").glob("*/__init__.py")}
    return set(PACKAGES) - {"minicluster"} | inside


def test_every_room_has_a_row() -> None:
    assert set(SHOWN) == _folders()


def test_every_room_has_a_layer() -> None:
    assert set.union(*_layers()) == _folders()


def test_the_rows_are_in_the_order_of_the_layers() -> None:
    depth = {room: number for number, layer in enumerate(_layers()) for room in layer}
    assert sorted(SHOWN, key=depth.__getitem__) == SHOWN
