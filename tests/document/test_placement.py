"""The placement that a document names, its settings and its affinity."""

from __future__ import annotations

import pytest

from minicluster.document import DocumentError, load

HEAD = "apiVersion: flux-framework.org/v1alpha2\nkind: MiniCluster\nmetadata: {name: m}\n"


def document(scheduler: str) -> str:
    return f"{HEAD}spec: {{containers: [{{}}], flux: {{scheduler: {{{scheduler}}}}}}}"


@pytest.mark.parametrize(
    ("scheduler", "problem"),
    [
        pytest.param(
            "placement: task-grup",
            "placement: unknown placement 'task-grup'; did you mean 'task-group'?",
            id="misspelt",
        ),
        pytest.param(
            "placement: random, placementSettings: {sed: 1}",
            "placementSettings: placement random: unknown setting 'sed'; did you mean 'seed'?",
            id="a setting that is misspelt",
        ),
        pytest.param(
            "placementSettings: {seed: 1}",
            "placementSettings: placement low-rank: unknown setting 'seed'; known are affinity",
            id="a setting of another one than the default",
        ),
        pytest.param(
            "placement: Spread",
            'placement: found the text "Spread", allowed is a placement\'s name, such as "spread" or'
            ' "task-group"',
            id="no name",
        ),
        pytest.param(
            "affinity: requird",
            'affinity: found the text "requird", allowed is "none" or "best-effort" or "required";'
            ' did you mean "required"?',
            id="affinity",
        ),
    ],
)
def test_what_is_wrong_is_named(scheduler: str, problem: str) -> None:
    with pytest.raises(DocumentError) as caught:
        load(document(scheduler))
    assert [f"{each.path}: {each.message}" for each in caught.value.problems] == [
        f"spec.flux.scheduler.{problem}"
    ]


@pytest.mark.parametrize(
    ("scheduler", "found"),
    [
        pytest.param("placement: spread, affinity: required", ("spread", {}, "required"), id="both"),
        pytest.param("placement: minicluster/pack", ("minicluster/pack", {}, ""), id="by its full name"),
        pytest.param("placement: ''", ("", {}, ""), id="empty"),
        pytest.param("affinity: none", ("", {}, "none"), id="an affinity alone"),
        pytest.param(
            "placement: random, placementSettings: {seed: 7}", ("random", {"seed": 7}, ""), id="settings"
        ),
    ],
)
def test_what_is_allowed_is_kept(scheduler: str, found: tuple[str, dict[str, object], str]) -> None:
    (cluster,) = load(document(scheduler))
    kept = cluster.spec.flux.scheduler
    assert (kept.placement, kept.placement_settings, kept.affinity) == found
