"""Options of `up` that change a document before it is applied."""

from __future__ import annotations

import pytest

from minicluster.kube_client.errors import RequestError
from minicluster.remote import documents

TEXT = """\
apiVersion: flux-framework.org/v1alpha2
kind: MiniCluster
metadata: {name: mc}
spec:
  containers: [CONTAINERS]
"""
ONE = "{command: a, environment: {A: '1'}}"
TWO = "{name: side, image: s}, {name: app, image: x, runFlux: true, command: a}"


def _chosen(containers: str, image: str, *, times: int = 1) -> list[documents.Wanted]:
    texts = (TEXT.replace("CONTAINERS", containers).replace("mc", f"mc{number}") for number in range(times))
    return documents.choose(documents.read("---\n".join(texts), "f.yaml")[0], image=image)


@pytest.mark.parametrize(
    ("containers", "expected"),
    [
        pytest.param(ONE, [{"command": "a", "environment": {"A": "1"}, "image": "mine"}], id="one"),
        pytest.param(
            TWO,
            [
                {"name": "side", "image": "s"},
                {"name": "app", "image": "mine", "runFlux": True, "command": "a"},
            ],
            id="beside a sidecar",
        ),
    ],
)
def test_an_image_is_that_of_the_container_which_runs_the_command(
    containers: str, expected: list[dict[str, object]]
) -> None:
    (wanted,) = _chosen(containers, "mine")
    assert wanted.item["spec"]["containers"] == expected


def test_without_one_the_documents_own_stays() -> None:
    (wanted,) = _chosen(TWO, "")
    assert [each["image"] for each in wanted.item["spec"]["containers"]] == ["s", "x"]


def test_of_several_miniclusters_one_is_to_be_named() -> None:
    with pytest.raises(RequestError) as refusal:
        _chosen(ONE, "mine", times=2)
    assert str(refusal.value) == "--image: f.yaml has several MiniClusters (mc0, mc1); add --name"


def test_an_image_that_no_document_may_have_is_refused() -> None:
    with pytest.raises(RequestError, match=r"^--image x+: MiniCluster mc0 does not allow it: "):
        _chosen(ONE, "x" * 5000)


def test_a_name_chooses_and_does_not_rename() -> None:
    found = documents.read(TEXT.replace("CONTAINERS", ONE), "f.yaml")[0]
    with pytest.raises(RequestError) as refusal:
        documents.choose(found, name="other")
    assert str(refusal.value) == (
        "f.yaml: has no MiniCluster other; it has mc; --name chooses one of the file, and renames none;"
        " metadata.name in the file is its name"
    )
