"""The experts that are there without a file of an administrator's: for the actions 0, 1/4, 1/2 and 3/4."""

from __future__ import annotations

from typing import TYPE_CHECKING

from queue_policies import degradation
from queue_policies.cosched.trees import Branch, Expert, Tree

if TYPE_CHECKING:
    from collections.abc import Sequence

ACTIONS = "0 0.25 0.5 0.75"
NONE: Tree = (1.0, 0.0, 0.0, 0.0)
LEAST: Tree = (0.02, 0.58, 0.3, 0.1)
"""As little as the guest needs: what does not meet its need is masked."""
HALF: Tree = (0.05, 0.45, 0.5, 0.0)
MUCH: Tree = (0.1, 0.0, 0.2, 0.7)


def _spared(tree: Tree) -> Branch:
    """Return a tree by which programs that guests slow down much neither have guests nor are such."""
    of_guest = _below("guest-slowdown", degradation.MUCH, tree, NONE)
    return _below("slowdown", degradation.MUCH, of_guest, NONE)


def _below(feature: str, value: float, then: Tree, otherwise: Tree) -> Branch:
    return Branch(feature, value, then, otherwise)


EXPERTS = (
    Expert("idle cores", _spared(_below("cpu", 0.6, LEAST, NONE))),
    Expert("many idle cores", _spared(_below("cpu", 0.35, LEAST, _below("cpu", 0.5, HALF, NONE)))),
    Expert("unlike", _spared(_below("cpu", 0.6, _below("guest-cpu", 0.6, NONE, LEAST), NONE))),
    Expert("memory", _spared(_below("memory", 0.2, LEAST, NONE))),
    Expert("in time", _spared(_below("happiness", 1.2, NONE, _below("cpu", 0.7, LEAST, NONE)))),
    Expert("stage", _spared(_below("parallel", 0.5, MUCH, _below("cpu", 0.6, LEAST, NONE)))),
    Expert("early", _spared(_below("elapsed", 0.6, _below("cpu", 0.8, LEAST, NONE), NONE))),
    Expert("bold", MUCH),
)
"""Some are good for some programs only: which, is learned."""


def for_actions(grid: Sequence[float]) -> tuple[Expert, ...]:
    """Return these experts for other actions: each of theirs becomes the nearest one, and none stays none."""
    nearest = [0, *(_nearest(float(each), grid) for each in ACTIONS.split()[1:])]
    return tuple(Expert(each.name, _mapped(each.tree, nearest, len(grid))) for each in EXPERTS)


def _nearest(action: float, grid: Sequence[float]) -> int:
    return min(range(1, len(grid)), key=lambda index: abs(grid[index] - action))


def _mapped(tree: Tree, nearest: Sequence[int], actions: int) -> Tree:
    if isinstance(tree, Branch):
        then, otherwise = (_mapped(each, nearest, actions) for each in (tree.then, tree.otherwise))
        return Branch(tree.feature, tree.below, then, otherwise)
    leaf = [0.0] * actions
    for index, probability in zip(nearest, tree, strict=True):
        leaf[index] += probability
    return tuple(leaf)
