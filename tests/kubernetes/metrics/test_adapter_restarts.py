"""An adapter that is killed and started again: autoscalers hold sizes meanwhile, and then go on."""

from pathlib import Path

from minicluster.document import crd
from tests.devcluster import Api, Options, cluster, until
from tests.kubernetes import adapters, operators
from tests.kubernetes.adapters import API_SERVICES, APIS, V2
from tests.kubernetes.autoscalers import EVERY_SECOND, HPAS, active, hpa
from tests.metrics_api.adapter.played import playing
from tests.ports import free_port


def test_no_size_changes_while_it_is_away(programs: None, tmp_path: Path) -> None:
    """Its successor has the authority that the API server trusts: the APIServices need no change."""
    port = free_port()
    options = Options(crds=[crd()], controller_manager=EVERY_SECOND)
    with cluster(options) as plane, playing(tmp_path) as leads:
        leads.add("nobody")
        api = plane.api
        with adapters.running(plane, leads, tmp_path / "first", port) as first:
            lead = adapters.cluster(api, leads, "default", size=2, minSize=1, maxSize=8)
            lead.serve_numbers(flux_nodes_demanded=4)
            api.create(HPAS.format("default"), hpa("Object"))
            until(lambda: size(api) == 4, "the autoscaler to ask for 4", operators.SECONDS)
            before = {name: api.get(f"{API_SERVICES}/{name}")["spec"] for name in APIS}
            first.kill()
            lead.serve_numbers(flux_nodes_demanded=1)
            until(lambda: active(api, "default") == "False", "the autoscaler to notice", operators.SECONDS)
            path = f"{V2}/namespaces/default/services/mc/flux_nodes_demanded"
            assert api.send("GET", path)[0] == 503
            assert size(api) == 4
        lead.serve_numbers(flux_nodes_demanded=6)
        with adapters.running(plane, leads, tmp_path / "second", port):
            until(lambda: size(api) == 6, "the autoscaler to go on", operators.SECONDS)
            assert {name: api.get(f"{API_SERVICES}/{name}")["spec"] for name in APIS} == before


def size(api: Api) -> int:
    """Return the size that is asked for."""
    return int(operators.read(api, "default")["spec"]["size"])
