"""Today's operator over what 0.1.0 left with the API server goes on to the end that it had then."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from tests.release_0_1_0 import adapters, scenes, stored

NAMES = stored.names()
FIXED = ("completionMode", "podFailurePolicy", "selector", "successPolicy", "template")


@pytest.mark.parametrize("name", NAMES)
def test_it_ends_as_it_did(name: str) -> None:
    """Conditions by their reasons, what the lead is told, Events; words and times may differ."""
    saved = stored.read(name)
    expected = saved.pop("end")
    found = adapters.in_virtual_time(scenes.ended(saved))
    for when in ("first", "conditions"):
        known = {each[0] for each in expected[when]}
        found[when] = [each for each in found[when] if each[0] in known]
    assert found == expected


def test_there_is_a_scene_of_each_kind() -> None:
    assert set(NAMES) == set(scenes.AMID)


async def _taken_over(saved: dict[str, Any], **site: Any) -> tuple[dict[str, Any], list[str], list[str]]:
    """Have an operator take over what is at rest; return the objects, and what it and a second one wrote."""
    here = await adapters.restored_world(saved, **site)
    for _ in range(10):
        await adapters.archived(here).second()
    early = [str(each) for each in here.api.writes]
    await here.restart()
    for _ in range(10):
        await adapters.archived(here).second()
    assert set(await adapters.end_world(here)) == {"ok"}
    objects = {
        f"{reference.kind} {reference.name}": copy.deepcopy(item)
        for reference, item in here.store.objects.items()
    }
    return objects, early, [str(each) for each in here.api.writes[len(early) :]]


def _uid(saved: dict[str, Any]) -> str:
    """Return how names of Secrets end: with the beginning of the MiniCluster's UID."""
    [found] = [each for each in saved["objects"] if each["kind"] == "MiniCluster"]
    return str(found["metadata"]["uid"].replace("-", "")[:12])


@pytest.mark.parametrize("site", [{}, {"image_volumes": True}], ids=["as it is", "pods made otherwise"])
@pytest.mark.parametrize("name", [each for each in NAMES if each.startswith("settled-")])
def test_objects_of_before_are_brought_up_to_date_once(name: str, site: dict[str, bool]) -> None:
    """Nothing is made again, and pods stay as they were made, also where this operator would make others."""
    saved = stored.read(name)
    before = {f"{each['kind']} {each['metadata']['name']}": each for each in copy.deepcopy(saved["objects"])}
    after, early, late = adapters.in_virtual_time(_taken_over(saved, **site))
    # What cannot be changed each operator tries once: it does not know what another one has held.
    tried = ["apply Job mc", "patch Job mc"] if site else []
    assert late in ([], tried), "the same operator, begun anew, writes again"
    further = [each for each in early if each.split()[0] not in {"apply", "patch"}]
    assert further in ([], [f"create Secret mc-tokens-{_uid(saved)}"]), "nothing else is created or deleted"
    assert after.keys() >= before.keys()
    for each, item in before.items():
        assert after[each]["metadata"]["uid"] == item["metadata"]["uid"], f"{each} was made again"
        if item["kind"] in {"Pod", "Secret", "Job"}:
            parts = {"Job": FIXED, "Pod": ("containers", "volumes"), "Secret": ()}[item["kind"]]
            old, new = item.get("spec", {}), after[each].get("spec", {})
            assert {key: new.get(key) for key in parts} == {key: old.get(key) for key in parts}, each
            assert after[each].get("data") == item.get("data"), each


def test_what_a_status_has_in_words_only_is_taken_over() -> None:
    """An operator that has not seen which jobs were started again names them, until all brokers are there."""
    saved = stored.read("node-lost")
    assert saved["end"]["jobs"] == ["ƒa", "ƒb", "ƒc"]
    shown = [each for each in saved["end"]["first"] if each[0] == "BrokersReady"]
    assert shown == [["BrokersReady", "False", "JobsRestarted"]]
