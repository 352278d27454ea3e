"""Where commands about bursts look for MiniClusters: this machine, or a Kubernetes cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.burst.joining.near import SPEC
from tests.burst.providers.kubernetes.fake_api import serving

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.cli.calls import Answer

MEMORY = "providers: [{name: far, kind: kubernetes, settings: {kubeconfig: KUBECONFIG, namespace: bursts,\n"
NO_TUNNEL = (
    "no tunnel can be there (spec.bursting.expose: tunnel), for which the credentials may not, in namespace"
    " bursts: list services"
)
NOT_ALONE = (
    "no job can have an instance of its own there (spec.bursting.join: false), for which the credentials may"
    " not, in namespace bursts: list services"
)
OTHER = "01kb4q2m8d6s3f9v7x5c1n0t2r"
SETTINGS = MEMORY + "  offers: [{machine: c8, cores: 8}]}}]\n"


@pytest.mark.parametrize("option", [("--context", "lab"), ("-n", "science"), ("--all-namespaces",)])
def test_options_of_kubernetes_are_refused_for_this_machine(
    call: Callable[..., Answer], tmp_path: Path, option: tuple[str, ...]
) -> None:
    answer = call("burst", "list", "--state", str(tmp_path), *option)
    assert answer.code == 2
    name = {"-n": "--namespace"}.get(option[0], option[0])
    assert f"Invalid value for {name}: has a meaning only with --on kubernetes" in answer.err


def test_another_back_end_has_no_bursts(call: Callable[..., Answer], tmp_path: Path) -> None:
    answer = call("burst", "list", "--on", "server", "--state", str(tmp_path))
    assert answer.code == 2
    assert "local" in answer.err
    assert "kubernetes" in answer.err


def test_without_a_kubeconfig_it_is_refused(call: Callable[..., Answer], tmp_path: Path) -> None:
    options = ("--on", "kubernetes", "--kubeconfig", str(tmp_path / "absent"), "--state", str(tmp_path))
    answer = call("burst", "list", *options)
    assert answer.code == 1
    assert f"there is no kubeconfig {tmp_path}/absent" in answer.err


def test_each_command_works_with_the_miniclusters_of_a_namespace(
    call: Callable[..., Answer], tmp_path: Path
) -> None:
    with serving(tmp_path) as (_, kubeconfig):
        (tmp_path / "burst.yaml").write_text(SETTINGS.replace("KUBECONFIG", str(kubeconfig)))
        options = ("--on", "kubernetes", "--kubeconfig", str(kubeconfig), "-n", "science")
        options += ("--state", str(tmp_path))

        planned = call("burst", "plan", "mc", *options)
        assert planned.code == 2
        assert (
            "cluster mc: is not up with `spec.bursting` in its document (those that are: none)" in planned.err
        )
        assert call("burst", "list", *options).out == "no bursts\n"
        assert call("burst", "check", "far", *options).out == "far: all is well\n"
        assert call("burst", "sweep", "--dry-run", *options).out == "nothing is left over\n"
        assert "c8" in call("burst", "providers", *options).out
        unknown = call("burst", "show", "62dgmfw4gk", *options)
        assert "there is no burst '62dgmfw4gk'" in unknown.err
    assert [each.name for each in tmp_path.glob("burst*.db")] != ["burst.db"]


@pytest.mark.parametrize(
    ("bursting", "code", "lines"),
    [
        (
            None,
            0,
            [f"only for tunnels: {NO_TUNNEL}", f"only for isolated bursts: {NOT_ALONE}", "all is well"],
        ),
        ({"expose": "tunnel"}, 1, [NO_TUNNEL]),
        ({"expose": "nodePort"}, 0, ["all is well"]),
        ({"join": False, "expose": "none"}, 1, [NOT_ALONE]),
    ],
    ids=["nobody known", "tunnel", "another way", "isolated"],
)
def test_further_rights_are_a_problem_where_a_minicluster_needs_them(
    call: Callable[..., Answer],
    tmp_path: Path,
    bursting: dict[str, object] | None,
    code: int,
    lines: list[str],
) -> None:
    with serving(tmp_path) as (api, kubeconfig):
        (tmp_path / "burst.yaml").write_text(SETTINGS.replace("KUBECONFIG", str(kubeconfig)))
        api.denied.add("list services")
        if bursting is not None:
            about = {"name": "mc", "namespace": "science", "uid": "5f0e2a8c-1111-2222-3333-444455556666"}
            item = {"apiVersion": "flux-framework.org/v1alpha2", "kind": "MiniCluster", "metadata": about}
            spec = {**SPEC, "bursting": bursting}
            api.add(
                "/apis/flux-framework.org/v1alpha2/namespaces/science/miniclusters/mc", {**item, "spec": spec}
            )
        options = ("--on", "kubernetes", "--kubeconfig", str(kubeconfig), "-n", "science")
        answer = call("burst", "check", "far", *options, "--state", str(tmp_path))
    assert (answer.code, answer.out.splitlines()) == (code, [f"far: {each}" for each in lines])


def test_what_a_service_may_use_that_is_alive_is_swept_only_with_an_option(
    call: Callable[..., Answer], tmp_path: Path
) -> None:
    """Of another installation nothing is known but its id: its bursts are asked for twice."""
    with serving(tmp_path) as (api, kubeconfig):
        (tmp_path / "burst.yaml").write_text(SETTINGS.replace("KUBECONFIG", str(kubeconfig)))
        labels = {"minicluster-burst": "0000000001", "minicluster-owner": OTHER}
        path = "/api/v1/namespaces/bursts/configmaps/mcb-0000000001"
        about = {"name": "mcb-0000000001", "namespace": "bursts", "labels": labels}
        item = api.add(path, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": about})
        item["metadata"]["creationTimestamp"] = "2026-01-01T00:00:00Z"
        sweep = ("burst", "sweep", "--installation", OTHER, "--state", str(tmp_path))
        for more, code in ((("--dry-run",), 0), ((), 1)):
            answer = call(*sweep, *more)
            assert (answer.code, answer.out.splitlines()[-1].split()[-1]) == (code, "open"), answer.err
            assert "1 not deleted, as a service that is alive may use it: --open deletes" in answer.err
        assert call(*sweep, "--expired").out == "nothing is left over\n"
        assert call(*sweep, "--expired", "--open").code == 2
        assert path in api.items
        answer = call(*sweep, "--open")
        assert (answer.code, answer.out.splitlines()[-1].split()[-1]) == (0, "deleted"), answer.err
        assert path not in api.items
