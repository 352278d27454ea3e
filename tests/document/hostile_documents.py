"""Documents to attack with: every field of spec and metadata in its turn, with what breaks things elsewhere.

About half of them are such that an API server admits them: long, many, at a bound, or with the marks of a
language that reads the value later. The others are refused by type, shape or bound.
"""

from __future__ import annotations

import copy
import functools
import json
import random
import re
from typing import TYPE_CHECKING, Any

from hypothesis import Phase, find, settings
from hypothesis import strategies as st

from minicluster.document import API_VERSION, KIND
from minicluster.document.schema import document_schema
from minicluster.operator.observation import ANNOTATION_DIGEST
from minicluster.plan.constants import FINALIZER

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from minicluster.document.structural import SchemaNode

Path = tuple[str, ...]
ITEM, ENTRY = "[]", "{}"
"""The steps of a path into a list, and into a map of any names."""
SPEC: SchemaNode = document_schema()["properties"]["spec"]
KOPF = "kopf.zalando.org"
NAMED = (
    *(f"{KOPF}/{name}" for name in ("last-handled-configuration", "kopf-managed", "touch-dummy", "pass_on")),
    *("kubectl.kubernetes.io/last-applied-configuration", ANNOTATION_DIGEST),
)
"""Annotations that mean something to kopf (state, mark, and progress of a handler), or to others."""
LABELS = ("app.kubernetes.io/managed-by", "flux-framework.org/minicluster", "kueue.x-k8s.io/queue-name")
FINALIZERS = (FINALIZER, f"{KOPF}/KopfFinalizerMarker", "example.org/another", "foregroundDeletion", "x", "")
LABEL_VALUE: SchemaNode = {"type": "string", "maxLength": 63, "pattern": "^([a-z]([-a-z]*[a-z])?)?$"}
METADATA: SchemaNode = {
    "type": "object",
    "properties": {
        "annotations": {
            "type": "object",
            "properties": {name: {"type": "string"} for name in NAMED},
            "additionalProperties": {"type": "string"},
        },
        "labels": {
            "type": "object",
            "properties": dict.fromkeys(LABELS, LABEL_VALUE),
            "additionalProperties": LABEL_VALUE,
        },
        # Each without a domain is worth a warning in the answer, of which `http.client` reads a hundred.
        "finalizers": {
            "type": "array",
            "maxItems": 32,
            "items": {"type": "string", "enum": list(FINALIZERS)},
        },
    },
}
"""What a user may write there: the API server's own schema has no bounds of which a value could be at."""
DOCUMENT: SchemaNode = {"type": "object", "properties": {"metadata": METADATA, "spec": SPEC}}
BASE = {"size": 2, "containers": [{"image": "example.org/app:1", "command": "hostname"}]}
SERVICE = {"name": "beside", "image": "example.org/app:1", "command": "sleep 1"}
MANY = 300
"""The most items of a list or map."""
MAX_TEXT = 100_000
"""Characters, of a text without a bound."""
MAX_BYTES = 1_000_000
"""Of a document: etcd takes 1.5 MB, with all the rest of the object."""
FIRST = settings(phases=[Phase.generate], database=None, derandomize=True)
"""The first text that is found, not the shortest."""
TEXTS = (
    *("", " ", "x", "-1", "0", "null", "true", "1e999999", "9" * 4_000, "0x10", "1_000", "3.5", "NaN"),
    *("$(reboot)", "`id`", "'; exit 1; '", '"; echo "', "a\nb", "\\", "%s%n", "{{ 7 * 7 }}", "{% raw %}"),
    *('"""', "'''", "[bootstrap]\nhosts = []", "a.a.a.a = 1", "a[0-99999]", "a[0-9999999]", "[[[[", "a,a,a,"),
    *("../../etc/passwd", "/", "//", "/dev/zero", "~", "*", "a/b/c", ".", "-", "A_B", "xn--", "a" * 253),
    *("\x1b[2J", "\x00", "\x7f", "\u202eabc", "\ud7ff", "\ufeff", "ﬀ", "İ", "😀" * 50, "e\u0301" * 50),
    *("1Ei", "9999999999999999999Ei", "0.0000000001", "1n", "100d", "1h1h", "infinity", "ƒ", "fluxuser"),
)
NUMBERS = (0, 1, -1, 2, 63, 64, 65_535, 65_536, 2**31 - 1, 2**31, 2**53, 2**63 - 1, -(2**63))
ANYTHING = (None, True, 1.5, [], {}, [[]], {"a": {"b": {"c": []}}}, "x", 0)


def paths(node: SchemaNode = DOCUMENT, path: Path = ()) -> Iterator[Path]:
    """Yield the path of every field, of the items of every list, and of the entries of every map."""
    if len(path) > 1:
        yield path
    for name, inner in node.get("properties", {}).items():
        yield from paths(inner, (*path, name))
    if "items" in node:
        yield from paths(node["items"], (*path, ITEM))
    if isinstance(node.get("additionalProperties"), dict):
        yield from paths(node["additionalProperties"], (*path, ENTRY))


def named(document: dict[str, Any], name: str) -> dict[str, Any]:
    """Return a document with all that an API server wants to have besides."""
    about = {**document["metadata"], "name": name}
    return {"apiVersion": API_VERSION, "kind": KIND, **document, "metadata": about}


def documents(count: int, seed: int = 1) -> Iterator[tuple[Path, dict[str, Any]]]:
    """Yield so many documents, each with the path that is attacked; after the last one the first comes again.

    They have `metadata` and `spec` alone.
    """
    chance, fields = random.Random(seed), list(paths())
    for number in range(count):
        if number % len(fields) == 0:
            chance.shuffle(fields)
        path = fields[number % len(fields)]
        yield path, next(filter(_fits, _attempts(path, fields, chance)))


def _attempts(path: Path, fields: list[Path], chance: random.Random) -> Iterator[dict[str, Any]]:
    while True:
        document: Any = {"metadata": {}, "spec": copy.deepcopy(BASE)}
        if path[1] == "services":
            document["spec"]["services"] = [dict(SERVICE)]
        for each in (*chance.sample(fields, chance.choice((0, 0, 0, 2))), path):
            document = changed(DOCUMENT, document, each, chance)
        yield document


def _fits(document: object) -> bool:
    return len(json.dumps(document)) < MAX_BYTES


def changed(node: SchemaNode, content: Any, path: Path, chance: random.Random) -> Any:
    """Return the content with the field of a path attacked; what is around it is made if need be."""
    if not path:
        return hostile(node, chance)
    step, *rest = path
    if step == ITEM:
        items = content if isinstance(content, list) else []
        first = items[0] if items else plain(node["items"])
        return [changed(node["items"], first, tuple(rest), chance), *items[1:]]
    inner = node["additionalProperties"] if step == ENTRY else node["properties"][step]
    known = content if isinstance(content, dict) else plain(node)
    name = "a" if step == ENTRY else step
    return {**known, name: changed(inner, known.get(name, plain(inner)), tuple(rest), chance)}


def plain(node: SchemaNode) -> Any:
    """Return the least that a node of the schema accepts."""
    if "enum" in node or node.get("x-kubernetes-int-or-string"):
        return node.get("enum", [1])[0]
    return PLAIN.get(node.get("type", ""), _plain_text)(node)


def _plain_list(node: SchemaNode) -> list[Any]:
    return [plain(node["items"]) for _ in range(node.get("minItems", 0))]


def _plain_record(node: SchemaNode) -> dict[str, Any]:
    return {name: plain(node["properties"][name]) for name in node.get("required", ())}


def _plain_text(node: SchemaNode) -> str:
    return shaped(node.get("pattern", ""))


PLAIN: dict[str, Callable[[SchemaNode], Any]] = {
    "integer": lambda node: max(node.get("minimum", 1), 1),
    "boolean": lambda _node: True,
    "array": _plain_list,
    "object": _plain_record,
}


@functools.cache
def shaped(pattern: str) -> str:
    """Return a text of this shape."""
    if not pattern:
        return "x"
    texts = st.from_regex(re.compile(pattern, re.ASCII), fullmatch=True)
    return find(texts, lambda text: bool(text.strip()), settings=FIRST)


def hostile(node: SchemaNode, chance: random.Random) -> Any:
    """Return a value for a node of the schema: one that it may well accept, or in one of twelve cases any."""
    if chance.random() < 1 / 12:
        return copy.deepcopy(chance.choice(ANYTHING))
    if "enum" in node:
        return chance.choice(node["enum"])
    if node.get("x-kubernetes-int-or-string"):
        return chance.choice((*NUMBERS, *TEXTS))
    return HOSTILE.get(node.get("type", ""), _text)(node, chance)


def _number(node: SchemaNode, chance: random.Random) -> int:
    bounds = [node[name] for name in ("minimum", "maximum") if name in node]
    return chance.choice([*bounds * 6, *NUMBERS])


def _list(node: SchemaNode, chance: random.Random) -> list[Any]:
    items = [plain(node["items"]), hostile(node["items"], chance)]
    return [chance.choice(items) for _ in range(_many(node.get("maxItems"), chance))]


def _entries(node: SchemaNode, chance: random.Random) -> dict[str, Any]:
    """Return a record with a few of its fields attacked, or a map with many entries."""
    if "properties" in node:
        chosen = chance.sample(sorted(node["properties"]), min(3, len(node["properties"])))
        return plain(node) | {name: hostile(node["properties"][name], chance) for name in chosen}
    inner = node.get("additionalProperties")
    if not isinstance(inner, dict):
        return {"a": copy.deepcopy(chance.choice(ANYTHING)), chance.choice(TEXTS): 1}
    names = [f"a{number}" for number in range(_many(node.get("maxProperties"), chance))]
    found = {name: plain(inner) for name in names}
    return found | {chance.choice((*names[:1], *TEXTS)): hostile(inner, chance)}


def _text(node: SchemaNode, chance: random.Random) -> str:
    text = chance.choice(TEXTS)
    longest = min(node.get("maxLength", MAX_TEXT), MAX_TEXT)
    if node.get("pattern"):
        return chance.choice((text, shaped(node["pattern"]), shaped(node["pattern"])))
    return chance.choice((text, (text or "x") * (longest // max(len(text), 1))))[:longest]


def _many(bound: int | None, chance: random.Random) -> int:
    most = MANY if bound is None else min(bound, MANY)
    return chance.choice((0, 1, 2, 2, most, most, most + 1))


HOSTILE: dict[str, Callable[[SchemaNode, random.Random], Any]] = {
    "integer": _number,
    "boolean": lambda _node, chance: chance.random() < 0.5,
    "array": _list,
    "object": _entries,
}
