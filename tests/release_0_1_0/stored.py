"""Reading and writing `data/status.zip`: what API servers and leads hold amid something, and how that ended.

The texts of ConfigMaps are in `texts.json`, each once, under digests that stand in their places; the zips are
the files beside. `unzip -p status.zip NAME.json` shows a scene.
"""

from __future__ import annotations

import base64
import hashlib
import json
import zipfile
from typing import TYPE_CHECKING, Any

import yaml

from tests.release_0_1_0.adapters import DATA, ZIPS

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

JSON = dict[str, Any]
FILE = DATA / "status.zip"
TEXTS = "texts.json"
LONG = 200
"""Characters from which on a text is kept in `texts.json`."""


def write(scenes: Mapping[str, JSON]) -> None:
    """Write what was saved of some scenes, by their names."""
    texts: dict[str, str] = {}
    with zipfile.ZipFile(FILE, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, saved in scenes.items():
            objects = [_short(without_zips(each), texts) for each in saved["objects"]]
            archive.writestr(_entry(f"{name}.json"), _dumped({**saved, "objects": objects}))
        archive.writestr(_entry(TEXTS), _dumped(texts))


def read(name: str) -> JSON:
    """Return what was saved of a scene."""
    with zipfile.ZipFile(FILE) as archive:
        texts = json.loads(archive.read(TEXTS))
        saved: JSON = json.loads(archive.read(f"{name}.json"))
    return {**saved, "objects": [_whole(each, texts) for each in saved["objects"]]}


def names() -> list[str]:
    """Return the names of all scenes."""
    with zipfile.ZipFile(FILE) as archive:
        return sorted(each.removesuffix(".json") for each in archive.namelist() if each != TEXTS)


def without_zips(item: JSON) -> JSON:
    """Return an object in which the zips' names stand for them."""
    if "binaryData" not in item:
        return item
    assert set(item["binaryData"]) <= set(ZIPS)
    return {**item, "binaryData": {name: f"@{name}" for name in item["binaryData"]}}


def with_zips(item: JSON) -> JSON:
    """Return an object with the zips of 0.1.0."""
    if "binaryData" not in item or "@" not in str(item["binaryData"]):
        return item
    packed = {name: base64.b64encode((DATA / name).read_bytes()).decode() for name in item["binaryData"]}
    return {**item, "binaryData": packed}


def without_files(item: JSON) -> JSON:
    """Return an object in which names stand for the zips, and for the texts that pods have as well."""
    item = without_zips(item)
    if item["kind"] != "ConfigMap":
        return item
    names = {file.read_text(): f"@{file.relative_to(DATA).as_posix()}" for file in _pod_files()}
    return {**item, "data": {name: names.get(text, text) for name, text in item["data"].items()}}


def objects(name: str) -> list[JSON]:
    """Return the objects that were rendered of a document."""
    files = {f"@{file.relative_to(DATA).as_posix()}": file.read_text() for file in _pod_files()}
    found = list(yaml.safe_load_all((DATA / "objects" / f"{name}.yaml").read_text()))
    for item in found:
        if item["kind"] == "ConfigMap":
            item["data"] = {each: files.get(text, text) for each, text in item["data"].items()}
    return [with_zips(each) for each in found]


def _pod_files() -> list[Path]:
    return sorted((DATA / "pods").rglob("*.*"))


def _short(item: JSON, texts: dict[str, str]) -> JSON:
    if item["kind"] != "ConfigMap":
        return item
    shown = {}
    for name, text in item["data"].items():
        digest = "@" + hashlib.sha256(text.encode()).hexdigest()[:16]
        shown[name] = digest if len(text) > LONG else text
        texts.update({digest: text} if len(text) > LONG else {})
    return {**item, "data": shown}


def _whole(item: JSON, texts: Mapping[str, str]) -> JSON:
    if item["kind"] != "ConfigMap":
        return item
    return with_zips({**item, "data": {name: texts.get(text, text) for name, text in item["data"].items()}})


def _entry(name: str) -> zipfile.ZipInfo:
    entry = zipfile.ZipInfo(name)
    entry.compress_type = zipfile.ZIP_DEFLATED
    return entry


def _dumped(content: JSON) -> str:
    lines = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    return lines.replace('{"apiVersion"', '\n{"apiVersion"') + "\n"
