"""Workloads by a word: `charm:gap=180`, `trace.swf`, `jobs.json`."""

from __future__ import annotations

import difflib
import inspect
import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from queue_policies.settings import TRUTHS
from queue_policies.simulator.errors import WorkloadError
from queue_policies.simulator.workload import Oversized, Workload, fitted
from queue_policies.simulator.workloads import (
    apgas,
    charm,
    document,
    elastisim,
    lublin,
    scanflow,
    swf,
    workflows,
)

if TYPE_CHECKING:
    from collections.abc import Callable


def _charm(seed: int, gap: float = 90.0, jobs: int = charm.JOBS) -> Workload:
    """Paper A: stencil jobs with priorities on 60 slots; a gap in seconds between submissions."""
    *_, drawn = charm.draws(seed + 1, jobs=jobs)
    return charm.workload(drawn, gap, f"charm-{seed}")


def _apgas(seed: int, share: float = 1.0, blocking: bool = False) -> Workload:
    """Paper B: 25 jobs on 32 nodes; the malleable share; whether a shrink blocks the scheduler."""
    return apgas.workload(apgas.SEEDS[0] + seed, share, blocking)


def _elastisim(seed: int, share: float = 0.0, days: int = elastisim.DAYS) -> Workload:
    """Paper B's second workload: some 2,300 jobs of 30 days on 128 nodes; the malleable share."""
    return elastisim.workload(f"S{seed}", share, days)


def _lublin(
    seed: int, jobs: int = 1000, total: int = 128, load: float = 0.8, elastic: float = 0.0
) -> Workload:
    """Lublin and Feitelson's model of rigid jobs; the load, and the share that is made malleable."""
    return lublin.workload(seed, jobs, total, load, elastic)


def _scanflow(seed: int, experiment: int = 2, variant: str = "CM_G_TG") -> Workload:
    """Four nodes with two memory domains each; an experiment of the paper's (0: generated), and a variant."""
    arrivals = {0: scanflow.generated(seed), 1: scanflow.EXPERIMENT_1}.get(experiment, scanflow.EXPERIMENT_2)
    return scanflow.workload(
        arrivals, scanflow.VARIANTS[variant], seed=seed, name=f"scanflow-{experiment}-{variant}"
    )


def _workflows(
    seed: int, cores: int = 64, copies: int = 1, span: float = 0.0, noise: float = 0.0
) -> Workload:
    """Four workflows whose jobs may share cores: sets of 15 jobs, over hours; noise of measured usage."""
    return workflows.workload(seed, cores, copies, span, workflows.model(noise=noise))


GENERATORS: dict[str, Callable[..., Workload]] = {
    "charm": _charm,
    "apgas": _apgas,
    "elastisim": _elastisim,
    "lublin": _lublin,
    "workflows": _workflows,
    "scanflow": _scanflow,
}
BOUNDS: dict[str, tuple[str, Callable[[float], bool]]] = {
    "gap": ("0 or more", lambda value: value >= 0),
    "jobs": ("1 or more", lambda value: value >= 1),
    "total": ("1 or more", lambda value: value >= 1),
    "cores": ("1 or more", lambda value: value >= 1),
    "copies": ("1 or more", lambda value: value >= 1),
    "span": ("0 or more", lambda value: value >= 0),
    "noise": ("0 or more", lambda value: value >= 0),
    "days": ("1 or more", lambda value: value >= 1),
    "load": ("above 0", lambda value: value > 0),
    "share": ("from 0 to 1", lambda value: 0 <= value <= 1),
    "elastic": ("from 0 to 1", lambda value: 0 <= value <= 1),
    "experiment": ("from 0 to 3", lambda value: 0 <= value <= 3),
}
"""Which numbers a setting may be, in words and as a test; a name means the same in every generator."""
CHOICES = {"variant": tuple(scanflow.VARIANTS)}
"""The texts that a setting may be."""
ENDINGS = {".swf": swf.read, ".swf.gz": swf.read, ".json": document.read}


def settings(name: str) -> dict[str, Any]:
    """Return the settings of a generator with their defaults."""
    parameters = inspect.signature(GENERATORS[name]).parameters.values()
    return {each.name: each.default for each in parameters if each.name != "seed"}


def is_file(word: str) -> bool:
    """Return whether the word is a file's name, not a generator's."""
    return word.endswith(tuple(ENDINGS))


def load(word: str, seed: int = 0, total: int = 0, oversized: Oversized = "refuse") -> Workload:
    """Make the workload of this word. `seed` is for generators; a `total` other than 0 replaces its own.

    Raises WorkloadError for an unknown word, with the nearest one, and for what cannot be simulated.
    """
    for ending, read in ENDINGS.items():
        if word.endswith(ending):
            return read(word, total, oversized)
    name, _, given = word.partition(":")
    if name not in GENERATORS:
        raise WorkloadError(f"unknown workload {word!r}{_known(name)}")
    chosen = dict(_setting(name, each) for each in given.split(",") if each)
    made = GENERATORS[name](seed, **chosen)
    return replace(made, jobs=fitted(made.jobs, total, oversized), total=total) if total else made


def _setting(name: str, text: str) -> tuple[str, Any]:
    known = settings(name)
    key, equals, value = text.partition("=")
    if key not in known:
        raise WorkloadError(f"workload {name}: unknown setting {key!r}{_nearest(key, list(known))}")
    default = known[key]
    if key in CHOICES:
        if value not in CHOICES[key]:
            near = _nearest(value.upper(), list(CHOICES[key]))
            raise WorkloadError(f"workload {name}: setting {text!r}{near}")
        return key, value
    try:
        if isinstance(default, bool):
            return key, TRUTHS[value.lower()]
        number = type(default)(value if equals else "nothing")
    except (ValueError, KeyError) as error:
        kind = {bool: "true or false", int: "a whole number", float: "a number"}[type(default)]
        raise WorkloadError(f"workload {name}: setting {text!r}; needed is {key}=, and {kind}") from error
    words, valid = BOUNDS[key]
    if not (math.isfinite(number) and valid(number)):
        raise WorkloadError(f"workload {name}: setting {text!r}; {key} is {words}")
    return key, number


def _known(name: str) -> str:
    """Return what an unknown workload may be: a file of another kind, or a misspelt generator."""
    if "." in name or "/" in name:
        return f"; a file is {', '.join(f'FILE{ending}' for ending in ENDINGS)}"
    return _nearest(name, [*GENERATORS, *ENDINGS])


def _nearest(word: str, known: list[str]) -> str:
    near = difflib.get_close_matches(word, known, n=1, cutoff=0.5)
    listed = ", ".join(f"FILE{each}" if each.startswith(".") else each for each in known)
    return f"; did you mean {near[0]!r}?" if near else f"; known are {listed}"
