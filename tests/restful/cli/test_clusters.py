"""Which cluster a service serves: the one that is up, the document's, or a new one."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

from minicluster.backends import discovery, kept_instance
from minicluster.backends.discovery import BackendRegistry
from minicluster.backends.documents import DocumentText
from minicluster.backends.errors import NoCluster
from minicluster.backends.port import Backend, BackendKind, BackendOption
from minicluster.backends.records import BroughtUp, ClusterListing, ClusterSummary, UpRequest
from minicluster.instance.errors import InstanceGone
from restful.cli.clusters import ClusterChoice, served
from restful.cli.errors import WrongOptions

DOCUMENT = "kind: MiniCluster\nmetadata: {name: mine}\n"


@dataclass
class Machine(Backend):
    """A machine with clusters, of which their names are all."""

    up_already: tuple[str, ...] = ()
    texts: list[str] = field(default_factory=list)
    given: dict[str, Any] = field(default_factory=dict)
    location = "a test"

    def clusters(self) -> ClusterListing:
        found = tuple(ClusterSummary(each, "up", 1, 1, 0.0) for each in self.up_already)
        return ClusterListing(found, ())

    def up(self, text: DocumentText, request: UpRequest) -> Sequence[BroughtUp]:
        self.texts.append(text.text)
        return [BroughtUp("brought", "up")]

    def ask(self, name: str, work: Any) -> Any:
        if name != "mine":
            raise NoCluster(f"there is no cluster {name}")
        return work(self)


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    made = Machine()
    kind = BackendKind(
        lambda given, _: made.given.update(given) or made,
        (BackendOption(("--engine",), ""), BackendOption(("--restore",), "", commands=frozenset({"up"}))),
    )
    monkeypatch.setattr(discovery, "registry", lambda: BackendRegistry({discovery.USUAL: kind}))
    return made


@pytest.mark.parametrize(
    ("up", "choice", "name", "texts"),
    [
        pytest.param((), {}, "brought", 1, id="none is up, so one broker starts"),
        pytest.param(("one",), {}, "one", 0, id="the only one"),
        pytest.param(("one", "two"), {"name": "two"}, "two", 0, id="the named one"),
        pytest.param(("one",), {"document": "d"}, "brought", 1, id="the document's"),
        pytest.param(("mine",), {"document": "d"}, "mine", 0, id="the document's is up"),
    ],
)
def test_which_cluster_is_served(
    machine: Machine, tmp_path: Any, up: tuple[str, ...], choice: dict[str, str], name: str, texts: int
) -> None:
    machine.up_already = up
    if "document" in choice:
        (tmp_path / "d").write_text(DOCUMENT)
        choice = {**choice, "document": str(tmp_path / "d")}
    assert served(ClusterChoice(**choice, engine="embedded"), print) == (machine, name)
    assert len(machine.texts) == texts
    assert machine.given["engine"] == "embedded"


@pytest.mark.parametrize(
    ("up", "choice", "message"),
    [
        (("one", "two"), {}, "several clusters are up (one, two): choose one with --name"),
        (("one",), {"name": "x"}, "--name x: no such cluster is up (up: one); give its document"),
        ((), {"name": "x"}, "--name x: no such cluster is up (up: none); give its document"),
    ],
)
def test_what_is_refused(machine: Machine, up: tuple[str, ...], choice: dict[str, str], message: str) -> None:
    machine.up_already = up
    with pytest.raises(WrongOptions) as caught:
        served(ClusterChoice(**choice), print)
    assert str(caught.value) == message


def test_a_connection_lasts_until_it_is_closed(machine: Machine) -> None:
    with kept_instance.connect(machine, "mine") as instance:
        assert instance._inner is machine
        assert instance._thread.is_alive()
    assert not instance._thread.is_alive()


def test_a_cluster_that_is_not_there_is_an_instance_that_is_gone(machine: Machine) -> None:
    with pytest.raises(InstanceGone, match="there is no cluster other"):
        kept_instance.connect(machine, "other")
