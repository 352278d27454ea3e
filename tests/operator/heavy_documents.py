"""Documents that are dear to read and to plan, or were once, and light ones that ask for much."""

import itertools
import json
import string
from datetime import UTC, datetime
from typing import Any

from broker_config import curve
from minicluster import document
from minicluster.operator import planned
from minicluster.operator.planned import PlanInputs
from minicluster.plan import FreshKeys, LeadKeys, Observed, Site

Item = dict[str, Any]

KEYS = FreshKeys(curve.generate(), LeadKeys("c", "k", "t", "m"))
INPUTS = PlanInputs(Observed(), Site(lead_api=True), KEYS, datetime.now(UTC), None)
BOOTSTRAP = '[bootstrap]\ncurve_cert = "/c"\nhosts = [{{ host = "m-0{hosts}" }}]\n'


def names(size: int) -> str:
    """Return a hostlist of short names, none twice."""
    letters = string.ascii_lowercase
    found = itertools.chain.from_iterable(
        map("".join, itertools.product(letters, repeat=n)) for n in (1, 2, 3, 4)
    )
    listed = ",".join(itertools.islice(found, size // 4))
    return listed[:size].rpartition(",")[0]


def made(**spec: Any) -> Item:
    """Return a document as an API server would send it."""
    metadata = {"name": "m", "namespace": "n", "uid": "u", "generation": 1, "resourceVersion": "1"}
    head = {"apiVersion": document.API_VERSION, "kind": document.KIND}
    item: Item = json.loads(json.dumps({**head, "metadata": metadata, "spec": spec, "status": {}}))
    return item


def cases() -> dict[str, Item]:
    """Return documents that were dear before, or are the most of what a field allows."""
    head = BOOTSTRAP.format(hosts="")
    container = {"command": "hostname"}
    most = {"resources": {"limits": {"cpu": "4096", "nvidia.com/gpu": "1024"}}}
    many = [{"name": f"b{number}-{'x' * 50}", "size": 1_500} for number in range(64)]
    sidecars = [{"name": f"c{number}", "command": "x", "runFlux": not number} for number in range(32)]
    variables = {f"V{number}": "'" * 5_500 for number in range(240)}
    claims = [{**each, "resources": {"claims": [{"name": "a"}] * 256}} for each in sidecars]
    there = [{"name": f"r{number}", "resourceClaimName": "a"} for number in range(64)]
    plain = {"containers": [container]}
    return {
        "ordinary": made(**plain, size=4),
        "100,000 hosts": made(containers=[most], size=100_000),
        "64 clusters": made(**plain, flux={"bursting": {"clusters": many}}),
        "hostlist of long names": made(
            **plain, flux={"bursting": {"hostlist": "m-0," + "x" * 240 + "[0-99998]"}}
        ),
        "hostlist of inner brackets": made(
            **plain, flux={"bursting": {"hostlist": "m-0," + "a[0-9]" * 4 + "x"}}
        ),
        "hostlist of names": made(**plain, flux={"bursting": {"hostlist": "m-0," + names(65_000)}}),
        "TOML array": made(**plain, flux={"brokerConfig": f"{head}a=[{'1,' * 130_000}]\n[minicluster]\n"}),
        "TOML hosts": made(**plain, flux={"brokerConfig": BOOTSTRAP.format(hosts="," + names(260_000))}),
        "batch": made(containers=[{"command": "`\n" * 131_000, "batch": True}]),
        "batch and TOML hosts": made(
            containers=[{"command": "`\n" * 131_000, "batch": True}],
            flux={"brokerConfig": BOOTSTRAP.format(hosts="," + names(260_000))},
        ),
        "command": made(containers=[{"command": '"$("a")" ' * 26_000}]),
        "variables of 32 containers": made(containers=sidecars, flux={"environment": variables}),
        "claims": made(containers=claims, pod={"resourceClaims": there}),
    }


def run(item: Item) -> str:
    """Read and plan a document; return what came of it."""
    try:
        found = planned.plan(document.validate(item), INPUTS).plan
    except document.DocumentError:
        return "refused by its rules"
    return "planned" if found.objects else "refused by its plan"
