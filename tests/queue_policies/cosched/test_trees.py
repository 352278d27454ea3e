"""Experts as administrators write them: what is read, and what each mistake is called."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from queue_policies import plugins
from queue_policies.cosched import forest, trees
from queue_policies.errors import ExpertsFault, PolicySettings

TOML = """
[[experts]]
name = "idle cores"
tree = { feature = "cpu", below = 0.4, then = [0.1, 0.9], else = [1, 0] }

[[experts]]
name = "never"
tree = [1, 0]
"""


def test_a_file_of_experts_is_read_as_toml_and_as_json(tmp_path: Path) -> None:
    toml, text = tmp_path / "experts.toml", tmp_path / "experts.json"
    toml.write_text(TOML)
    tree = {"feature": "cpu", "below": 0.4, "then": [0.1, 0.9], "else": [1, 0]}
    document = {"experts": [{"name": "idle cores", "tree": tree}, {"name": "never", "tree": [1, 0]}]}
    text.write_text(json.dumps(document))
    read = trees.read(str(toml), 2)
    assert read == trees.read(str(text), 2) == trees.read(json.dumps(document), 2)
    assert read[0].advice({"cpu": 0.3}) == (0.1, 0.9)
    assert read[0].advice({"cpu": 0.4}) == (1.0, 0.0)
    assert read[0].advice({}) == (1.0, 0.0), "what is not known is not below"
    assert read[1] == trees.Expert("never", (1.0, 0.0))


def leaf(*probabilities: Any) -> dict[str, Any]:
    return {"experts": [{"name": "a", "tree": list(probabilities)}]}


def branch(**fields: Any) -> dict[str, Any]:
    whole = {"feature": "cpu", "below": 0.5, "then": [1, 0], "else": [1, 0], **fields}
    return {
        "experts": [{"name": "a", "tree": {key: value for key, value in whole.items() if value is not None}}]
    }


@pytest.mark.parametrize(
    ("document", "message"),
    [
        pytest.param({}, "x: has no experts; needed is a list `experts`, each with name and tree", id="none"),
        pytest.param(
            [], "x: has no experts; needed is a list `experts`, each with name and tree", id="empty"
        ),
        pytest.param(
            {"experts": [{"tree": [1, 0]}]}, "x: expert 1 has no name; needed are name and tree", id="no name"
        ),
        pytest.param(
            {"experts": [{"name": "a", "three": [1, 0]}]},
            "x: expert 'a' has 'three'; did you mean 'tree'?",
            id="a misspelt key",
        ),
        pytest.param(
            {"experts": [{"name": "a"}]},
            "x: expert 'a': None is no tree; needed is a list of probabilities, or a branch",
            id="no tree",
        ),
        pytest.param(
            leaf(1, 0, 0),
            "x: expert 'a': the leaf [1, 0, 0] has 3 probabilities; there are 2 actions",
            id="long",
        ),
        pytest.param(
            leaf(0.5, 0.4),
            "x: expert 'a': the leaf [0.5, 0.4] is no distribution: it sums to 0.9, not to 1",
            id="below 1",
        ),
        pytest.param(
            leaf(1.5, -0.5),
            "x: expert 'a': the leaf [1.5, -0.5] is no distribution: a probability is a number from 0 to 1",
            id="negative",
        ),
        pytest.param(
            leaf(float("nan"), 1),
            "x: expert 'a': the leaf [nan, 1] is no distribution: a probability is a number from 0 to 1",
            id="NaN",
        ),
        pytest.param(
            branch(feature="hapiness"),
            "x: expert 'a': unknown feature 'hapiness'; did you mean 'happiness'?",
            id="an unknown feature",
        ),
        pytest.param(
            branch(below="low"), "x: expert 'a': cpu below 'low'; needed is a number", id="no threshold"
        ),
        pytest.param(
            branch(then=None),
            "x: expert 'a': a branch has no 'then'; needed are feature, below, then, else",
            id="half a branch",
        ),
        pytest.param(branch(blow=1), "x: expert 'a': a branch has 'blow'; did you mean 'below'?", id="blow"),
        pytest.param(
            {"experts": leaf(1, 0)["experts"] * 2},
            "x: expert 'a' is there twice; each name must be there once",
            id="twice",
        ),
    ],
)
def test_a_mistake_is_named(document: Any, message: str) -> None:
    with pytest.raises(ExpertsFault) as error:
        trees.checked(document, 2, "x")
    assert str(error.value) == message


NEEDED = "it must be fractions from 0 to below 1 with blanks between, ascending"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param(
            "0.25 0.5",
            f"setting actions is '0.25 0.5'; {NEEDED}, and begin with 0: without it each host gets a guest",
            id="without 0",
        ),
        pytest.param(
            "0 0.5 0.25",
            f"setting actions is '0 0.5 0.25'; {NEEDED}",
            id="not ascending",
        ),
        pytest.param(
            "0 1",
            f"setting actions is '0 1'; {NEEDED}",
            id="all of the host",
        ),
        pytest.param(
            "0 half",
            f"setting actions is '0 half'; {NEEDED}",
            id="no number",
        ),
    ],
)
def test_a_grid_that_cannot_be_is_named(text: str, message: str) -> None:
    with pytest.raises(PolicySettings) as error:
        plugins.load("cosched", {"actions": text})
    assert str(error.value) == message


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    missing, broken = tmp_path / "none.toml", tmp_path / "broken.json"
    broken.write_text("{")
    with pytest.raises(ExpertsFault, match=r"none\.toml: No such file or directory"):
        plugins.load("cosched", {"experts": str(missing)})
    with pytest.raises(ExpertsFault, match=r"broken\.json: Expecting property name"):
        plugins.load("cosched", {"experts": str(broken)})


def test_every_feature_is_on_the_page_for_administrators() -> None:
    page = (Path(__file__).parents[3] / "docs" / "co-scheduling.md").read_text(encoding="utf-8")
    assert [name for name in trees.FEATURES if f"`{name}`" not in page] == []


def test_our_experts_are_what_a_file_could_have() -> None:
    assert trees.read(trees.written(forest.EXPERTS), 4) == forest.EXPERTS


def test_other_actions_have_our_experts_too() -> None:
    made = forest.for_actions((0.0, 0.5))
    assert [each.name for each in made] == [each.name for each in forest.EXPERTS]
    assert all(sum(each.advice({"cpu": 0.1})) == pytest.approx(1) for each in made)
    assert made[-1].advice({}) == pytest.approx((0.1, 0.9))
