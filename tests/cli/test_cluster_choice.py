"""Which cluster is meant where its name may be left out."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import pytest
import typer

from minicluster.backends.port import Backend
from minicluster.backends.records import ClusterListing, ClusterSummary
from minicluster.cli.cluster_choice import named, split

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True)
class Clusters(Backend):
    """A back end that has these clusters, and no more than their names."""

    names: Sequence[str]
    location: ClassVar[str] = "a test"

    def clusters(self) -> ClusterListing:
        """Return them."""
        found = (ClusterSummary(name, "Running", 1, 1, time.time()) for name in self.names)
        return ClusterListing(tuple(found), ("name",))


@pytest.mark.parametrize(
    ("name", "jobs", "expected"),
    [
        pytest.param(None, [], ("mc", ()), id="nothing"),
        pytest.param("mc", [], ("mc", ()), id="its name"),
        pytest.param("other", [], ("other", ()), id="another name"),
        pytest.param("ƒ2KFfQXA7", [], ("mc", ("ƒ2KFfQXA7",)), id="a job"),
        pytest.param("f2KFfQXA7", ["f3"], ("mc", ("f2KFfQXA7", "f3")), id="jobs, in ASCII"),
        pytest.param("mc", ["ƒ2"], ("mc", ("ƒ2",)), id="both"),
        pytest.param("f123", ["ƒ2"], ("f123", ("ƒ2",)), id="a name like an id"),
        pytest.param("123", [], ("123", ()), id="a name like a number"),
        pytest.param("mc", [""], ("mc", ("",)), id="an empty job"),
        pytest.param("MC", [], ("MC", ()), id="neither"),
    ],
)
def test_one_cluster_is_up(name: str | None, jobs: Sequence[str], expected: object) -> None:
    """What could be a cluster's name is one: which clusters there are changes from call to call."""
    assert split(Clusters(["mc"]), name, jobs) == expected


@pytest.mark.parametrize(
    ("names", "name", "message"),
    [
        ((), None, "is needed: no cluster is up; see `minicluster list`"),
        (("a", "b"), None, "is needed: up are a, b; see `minicluster list`"),
        (("a",), "", "is empty (did the command fail that was to tell it?)"),
    ],
    ids=["none", "several", "empty"],
)
def test_a_name_is_needed(names: Sequence[str], name: str | None, message: str) -> None:
    with pytest.raises(typer.BadParameter) as refusal:
        named(Clusters(names), name)
    assert (refusal.value.param_hint, refusal.value.message) == ("NAME", message)
