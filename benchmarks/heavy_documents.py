"""What the heaviest documents cost the planner: CPU time and memory of reading one and planning it once.

    python benchmarks/heavy_documents.py
    python benchmarks/heavy_documents.py --steps 2000 --seed 7

Each document is measured in a process of its own, which has planned a small one before: `ms` is the least CPU
time of three runs, `mb` what memory grew by in the first. `weight` is by `minicluster.document.weight`; of
`weight.HEAVY` and more it is planned by a worker.

Besides known cases, a search mixes the fields: from a random document it changes the amount of one field at
a time, and keeps what costs more. It looks for the most that is planned in the event loop (`light`), and for
the most of any document that fits into etcd (`any`).
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import pickle
import random
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from engines import report

from broker_config import own_toml, settings
from minicluster.document import weight
from tests.operator.heavy_documents import BOOTSTRAP, cases, made, names, run

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.operator.heavy_documents import Item

MAX_BYTES = 1_400_000
"""Of a document: etcd takes 1.5 MB, with the rest of the object."""
MAX_SCRIPT = 262_144


class Cost(NamedTuple):
    """What a document costs."""

    ms: float
    mb: float
    outcome: str


def repeated(text: str) -> Callable[[int], str]:
    """Return a function that repeats a text up to some characters."""
    return lambda size: text * (size // len(text))


def evens(size: int) -> str:
    """Return a hostlist of numbers of which no two are neighbours."""
    numbers = ",".join(str(number) for number in range(0, 199_998, 2))[: max(size - 4, 1)]
    return f"a[{numbers.rpartition(',')[0] or '0'}]"


HOSTS: tuple[Callable[[int], str], ...] = (
    names,
    evens,
    repeated("a,"),
    repeated("a[0],"),
    repeated("a[0-9]b,"),
)
WORDS = tuple(map(repeated, ("a ", "a\n", "`\n", "'", '"$("a")" ', "$(a)\n", "\n", "$((", "\\")))
TOML = tuple(
    (start, repeated(text), end)
    for start, text, end in (
        ("a=[", "1,", "]"),
        ("a=[", "{a=1},", "]"),
        ("a=[", "[[[[[[]]]]]],", "]"),
        ("a=[", "1e9,", "]"),
        ("", "[[t]]\n", ""),
        ("", "\n", ""),
        ('a="', "\\n", '"'),
    )
)
LISTS = ("volumes", "items", "variables", "secrets", "ports", "claims", "limits", "containers", "services")
TEXTS = ("command", "prefix", "toml", "toml_hosts", "hostlist", "script")
AMOUNTS = (*TEXTS, *LISTS, "annotations", "affinity", "flux_variables", "clusters", "settings")
KINDS = {
    "command": len(WORDS),
    "prefix": 3,
    "toml": len(TOML),
    "toml_hosts": len(HOSTS),
    "hostlist": len(HOSTS),
}


class Mix(NamedTuple):
    """How much of each field a document has, from 0 to 1, and of which kind some are."""

    amounts: dict[str, float]
    kinds: dict[str, int]
    flags: dict[str, bool]


def some_amount(chance: random.Random) -> float:
    """Return a random part of what a field may have, small ones as likely as large ones."""
    return float(10 ** chance.uniform(-3, 0))


def some_mix(chance: random.Random) -> Mix:
    """Return a random mix of a few fields."""
    used = chance.sample(AMOUNTS, chance.randint(1, 6))
    amounts = {name: some_amount(chance) if name in used else 0.0 for name in AMOUNTS}
    kinds = {name: chance.randrange(count) for name, count in KINDS.items()}
    return Mix(amounts, kinds, {name: chance.random() < 0.5 for name in ("batch", "ours", "minimal")})


def changed(mix: Mix, chance: random.Random) -> Mix:
    """Return a mix with one field changed."""
    amounts, kinds, flags = dict(mix.amounts), dict(mix.kinds), dict(mix.flags)
    name = chance.choice(AMOUNTS)
    amounts[name] = chance.choice((0.0, 1.0, some_amount(chance), amounts[name] * chance.uniform(0.5, 2)))
    if chance.random() < 0.4:
        kind = chance.choice(list(KINDS))
        kinds[kind] = chance.randrange(KINDS[kind])
    if chance.random() < 0.2:
        flag = chance.choice(list(flags))
        flags[flag] = not flags[flag]
    return Mix({name: min(amount, 1.0) for name, amount in amounts.items()}, kinds, flags)


def mixed(mix: Mix) -> Item:
    """Return the document of a mix."""
    count = {name: round(amount * 256) for name, amount in mix.amounts.items()}
    flux: Item = {"minimalService": mix.flags["minimal"]}
    if mix.amounts["toml"] or mix.amounts["toml_hosts"]:
        flux["brokerConfig"] = _toml(mix)
    if mix.amounts["flux_variables"]:
        flux["environment"] = {f"V{number}": "'" * 5_000 for number in range(count["flux_variables"])}
    if mix.amounts["settings"]:
        flux["scheduler"] = {"settings": {f"s{n}": "x" * 4_096 for n in range(count["settings"] // 4)}}
    bursting: Item = {}
    if mix.amounts["hostlist"]:
        bursting = {
            "hostlist": "m-0," + HOSTS[mix.kinds["hostlist"]](round(mix.amounts["hostlist"] * 65_000))
        }
    elif mix.amounts["clusters"]:
        clusters = count["clusters"] // 4
        size = 90_000 // max(clusters, 1)
        bursting = {"clusters": [{"name": f"b{number}", "size": size} for number in range(clusters)]}
    pod = {
        "annotations": {f"a/{number}": "x" * 1_000 for number in range(count["annotations"])},
        "nodeAffinity": {f"a/{number}": ["v"] * 256 for number in range(count["affinity"])},
        "resourceClaims": [{"name": "a", "resourceClaimName": "a"}],
    }
    runner = {
        **_container(count, "runner"),
        "runFlux": True,
        "batch": mix.flags["batch"],
        "command": _text(WORDS, mix, "command", MAX_SCRIPT),
        "commands": {
            "prefix": _text(WORDS, mix, "prefix", MAX_SCRIPT // 2),
            "pre": "'" * count["script"] * 1_000,
        },
    }
    beside = [_container(count, f"c{number}") for number in range(count["containers"] // 8)]
    services = [_container(count, f"s{number}") for number in range(count["services"] // 8)]
    spec = {"containers": [runner, *beside[:31]], "services": services[:32], "pod": pod}
    return made(**spec, flux={**flux, "bursting": bursting})


def _container(count: dict[str, int], name: str) -> Item:
    items = {str(number): "a" for number in range(count["items"])}
    return {
        "name": name,
        "image": "x",
        "command": "x",
        "volumes": {
            f"v{name}-{n}": {"configMapName": "a", "items": items} for n in range(count["volumes"] // 4)
        },
        "environment": {f"V{number}": "a" for number in range(count["variables"])},
        "secrets": {f"S{number}": {"name": "a", "key": "b"} for number in range(count["secrets"])},
        "ports": list(range(1, count["ports"] // 4 + 1)),
        "resources": {
            "claims": [{"name": "a"}] * count["claims"],
            "limits": {f"a.com/{number}": "9e99" for number in range(count["limits"] // 4)},
        },
    }


def _text(kinds: tuple[Callable[[int], str], ...], mix: Mix, name: str, most: int) -> str:
    return kinds[mix.kinds[name]](round(mix.amounts[name] * most))


def _toml(mix: Mix) -> str:
    room = MAX_SCRIPT - 200
    listed = HOSTS[mix.kinds["toml_hosts"]](round(mix.amounts["toml_hosts"] * room / 2))
    start, fill, end = TOML[mix.kinds["toml"]]
    body = start + fill(round(mix.amounts["toml"] * (room - len(listed)))) + end
    ours = "\n[minicluster]\n" if mix.flags["ours"] else "\n"
    return BOOTSTRAP.format(hosts=f",{listed}" if listed else "") + body + ours


def cost(item: Item, times: int = 3) -> Cost:
    """Return what a document costs, in a process of its own."""
    receive, send = os.pipe()
    child = os.fork()
    if not child:
        with os.fdopen(send, "wb") as written:
            pickle.dump(_measured(item, times), written)
        os._exit(0)
    os.close(send)
    with os.fdopen(receive, "rb") as read:
        found: Cost = pickle.loads(read.read())  # this very program's
    os.waitpid(child, 0)
    return found


def _measured(item: Item, times: int) -> Cost:
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
    before = _memory("VmRSS")
    spent, peak, outcome = float("inf"), 0.0, ""
    for _ in range(times):
        own_toml.own.cache_clear()
        settings.listed_hosts.cache_clear()
        begin = time.thread_time()
        outcome = run(item)
        spent = min(spent, time.thread_time() - begin)
        peak = peak or _memory("VmHWM") - before
    return Cost(round(spent * 1_000, 1), round(peak, 1), outcome)


def _memory(field: str) -> float:
    status = Path("/proc/self/status").read_text()
    return int(status.partition(f"\n{field}:")[2].split()[0]) / 1_024


def search(steps: int, chance: random.Random, *, light: bool) -> Item:
    """Return the figures of the dearest document that was found, after some steps."""
    best: tuple[float, Mix] | None = None
    restarted = 0
    overall: Item = {}
    for step in range(steps):
        if best is None or step - restarted > steps // 8:
            best, restarted = (0.0, some_mix(chance)), step
        mix = changed(best[1], chance)
        item = mixed(mix)
        size = len(json.dumps(item))
        if size > MAX_BYTES or (light and weight.is_heavy(item)):
            continue
        found = cost(item, 1)
        if found.ms > best[0]:
            best = (found.ms, mix)
        if found.ms > overall.get("ms", 0.0):
            again = cost(item)
            if again.ms > overall.get("ms", 0.0):
                used = {name: round(amount, 2) for name, amount in mix.amounts.items() if amount}
                overall = figures(item, again) | {"fields": used, "kinds": mix.kinds, "flags": mix.flags}
    return overall


def figures(item: Item, found: Cost) -> Item:
    """Return a document's figures."""
    return {
        "bytes": len(json.dumps(item)),
        "weight": weight.of(item),
        "planned_by": "a worker" if weight.is_heavy(item) else "the event loop",
        "ms": found.ms,
        "mb": found.mb,
        "outcome": found.outcome,
    }


def main() -> None:
    """Measure the known cases, and search for dearer ones."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--steps", type=int, default=600, help="documents that each search tries")
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    run(made(containers=[{"command": "x"}], flux={"scheduler": {"queuePolicy": "minicluster/easy"}}))
    results = {name: figures(item, cost(item)) for name, item in cases().items()}
    chance = random.Random(args.seed)
    found = {"light": search(args.steps, chance, light=True), "any": search(args.steps, chance, light=False)}
    load = round(os.getloadavg()[0], 1)
    report("heavy documents", "CPU-ms, MB", {"load": load, "cases": results, "search": found})


if __name__ == "__main__":
    main()
