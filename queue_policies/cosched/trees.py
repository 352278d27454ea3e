"""Experts as data: decision trees whose leaves are distributions over the actions.

A set of them is a file that administrators write, TOML (Python 3.11 or later) or JSON:

    [[experts]]
    name = "idle cores"
    tree = { feature = "cpu", below = 0.4, then = [0.1, 0.0, 0.9, 0.0], else = [1, 0, 0, 0] }

A leaf has a probability for each action, in their order. A branch goes to `then` where the feature is below
the threshold, and to `else` where it is not, or is not known.
"""

from __future__ import annotations

import difflib
import json
import math
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from queue_policies.errors import ExpertsFault

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from queue_policies.cosched.learner import Distribution

FEATURES = {
    "cpu": "the fraction of its cores' time that the host uses",
    "memory": "the fraction of its cores' memory that the host uses",
    "parallel": "the fraction of the host's cores that are busy: low while its program runs on one of them",
    "elapsed": "the fraction of the host's time limit that is over",
    "happiness": "how far the host is from its time limit; at least 1: it will end in time",
    "slowdown": "how much slower guests made the host's program than quotas explain; 0: not, or unknown",
    "guest-cpu": "the fraction of its cores' time that the guest used in earlier runs",
    "guest-memory": "the fraction of its cores' memory that the guest used in earlier runs",
    "guest-slowdown": "how much slower guests made the guest's program as it was a host; 0: as above",
}
"""What a tree may ask for."""
_SUM = 1e-6  # by so much the probabilities of a leaf may miss 1
_KEYS = ("feature", "below", "then", "else")


class Branch(NamedTuple):
    """A question of a tree."""

    feature: str
    below: float
    then: Tree
    otherwise: Tree


Tree = Branch | tuple[float, ...]
"""A branch, or a leaf: a distribution."""


class Expert(NamedTuple):
    """A tree with a name."""

    name: str
    tree: Tree

    def advice(self, state: Mapping[str, float]) -> Distribution:
        """Return its distribution in a state. What is not in the state is not known."""
        tree = self.tree
        while isinstance(tree, Branch):
            tree = tree.then if state.get(tree.feature, math.inf) < tree.below else tree.otherwise
        return tree


@cache
def read(text: str, actions: int) -> tuple[Expert, ...]:
    """Return the experts of a file's path, or of JSON itself. Raises ExpertsFault, with what is wrong."""
    if text.lstrip().startswith(("{", "[")):
        return checked(_loaded("experts", text, ".json"), actions, "experts")
    try:
        return checked(_loaded(text, Path(text).read_text("utf-8"), Path(text).suffix), actions, text)
    except (OSError, UnicodeDecodeError) as error:
        raise ExpertsFault(f"{text}: {getattr(error, 'strerror', None) or error}") from error


def checked(value: Any, actions: int, source: str) -> tuple[Expert, ...]:
    """Return the experts of a loaded file. Raises ExpertsFault."""
    found = value.get("experts") if isinstance(value, dict) else value
    if not isinstance(found, list) or not found:
        raise ExpertsFault(f"{source}: has no experts; needed is a list `experts`, each with name and tree")
    experts = tuple(_expert(each, number, actions, source) for number, each in enumerate(found, 1))
    names = [each.name for each in experts]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise ExpertsFault(f"{source}: expert {twice!r} is there twice; each name must be there once")
    return experts


def written(experts: Iterable[Expert]) -> str:
    """Return experts as the JSON that `read` reads: where one's own may begin."""
    return json.dumps({"experts": [{"name": each.name, "tree": _as_json(each.tree)} for each in experts]})


def _as_json(tree: Tree) -> Any:
    if not isinstance(tree, Branch):
        return list(tree)
    then, otherwise = _as_json(tree.then), _as_json(tree.otherwise)
    return {"feature": tree.feature, "below": tree.below, "then": then, "else": otherwise}


@cache
def actions_of(text: str) -> tuple[float, ...]:
    """Return the actions in a setting, such as `0 0.25 0.5 0.75`. Raises ExpertsFault."""
    wrong = (
        f"setting actions is {text!r}; it must be fractions from 0 to below 1 with blanks between, ascending"
    )
    try:
        actions = tuple(float(each) for each in text.split())
    except ValueError as error:
        raise ExpertsFault(wrong) from error
    if not actions or actions[0] != 0:
        raise ExpertsFault(f"{wrong}, and begin with 0: without it each host gets a guest")
    if len(actions) < 2 or not all(low < high < 1 for low, high in pairwise(actions)):
        raise ExpertsFault(wrong)
    return actions


def _loaded(source: str, text: str, suffix: str) -> Any:
    try:
        if suffix == ".toml":
            import tomllib  # novm  # noqa: PLC0415 - Python 3.10 has none

            return tomllib.loads(text)
        return json.loads(text)
    except ImportError as error:
        raise ExpertsFault(f"{source}: this Python reads no TOML; write the same as JSON") from error
    except ValueError as error:
        raise ExpertsFault(f"{source}: {error}") from error


def _expert(value: Any, number: int, actions: int, source: str) -> Expert:
    name = value.get("name") if isinstance(value, dict) else None
    if not isinstance(name, str) or not name:
        raise ExpertsFault(f"{source}: expert {number} has no name; needed are name and tree")
    for key in value:
        if key not in {"name", "tree"}:
            raise ExpertsFault(f"{source}: expert {name!r} has {key!r}{_nearest(key, ('name', 'tree'))}")
    return Expert(name, _tree(value.get("tree"), actions, f"{source}: expert {name!r}"))


def _tree(value: Any, actions: int, whose: str) -> Tree:
    if isinstance(value, list):
        return _leaf(value, actions, whose)
    if not isinstance(value, dict):
        raise ExpertsFault(f"{whose}: {value!r} is no tree; needed is a list of probabilities, or a branch")
    for key in value:
        if key not in _KEYS:
            raise ExpertsFault(f"{whose}: a branch has {key!r}{_nearest(key, _KEYS)}")
    for key in _KEYS:
        if key not in value:
            raise ExpertsFault(f"{whose}: a branch has no {key!r}; needed are {', '.join(_KEYS)}")
    feature, below = value["feature"], value["below"]
    if feature not in FEATURES:
        raise ExpertsFault(f"{whose}: unknown feature {feature!r}{_nearest(str(feature), FEATURES)}")
    if not _is_number(below):
        raise ExpertsFault(f"{whose}: {feature} below {below!r}; needed is a number")
    return Branch(
        feature, float(below), _tree(value["then"], actions, whose), _tree(value["else"], actions, whose)
    )


def _leaf(value: Sequence[Any], actions: int, whose: str) -> Distribution:
    leaf = f"{whose}: the leaf {value}"
    if len(value) != actions:
        raise ExpertsFault(f"{leaf} has {len(value)} probabilities; there are {actions} actions")
    if not all(_is_number(each) and 0 <= each <= 1 for each in value):
        raise ExpertsFault(f"{leaf} is no distribution: a probability is a number from 0 to 1")
    total = math.fsum(value)
    if abs(total - 1) > _SUM:
        raise ExpertsFault(f"{leaf} is no distribution: it sums to {total:g}, not to 1")
    return tuple(each / total for each in value)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def _nearest(word: str, known: Iterable[str]) -> str:
    names = list(known)
    near = difflib.get_close_matches(word, names, n=1, cutoff=0.5)
    return f"; did you mean {near[0]!r}?" if near else f"; known are {', '.join(names)}"
