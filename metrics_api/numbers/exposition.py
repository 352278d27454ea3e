"""Samples in Prometheus' text format 0.0.4."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metrics_api import names

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from metrics_api.numbers.records import Sample

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"


def exposition(samples: Iterable[Sample]) -> str:
    """Return the text: each metric once, with its meaning, its type and its samples."""
    by_name: dict[str, list[Sample]] = {}
    for each in samples:
        by_name.setdefault(each.name, []).append(each)
    return "".join(_family(name, each) for name, each in by_name.items())


def _family(name: str, samples: Iterable[Sample]) -> str:
    meaning = _escaped(names.BY_NAME[name].meaning)
    lines = "".join(f"{name}{_labels(each.labels)} {_number(each.value)}\n" for each in samples)
    return f"# HELP {name} {meaning}\n# TYPE {name} gauge\n{lines}"


def _labels(labels: Mapping[str, str]) -> str:
    inside = ",".join(
        '{}="{}"'.format(key, _escaped(value).replace('"', '\\"')) for key, value in labels.items()
    )
    return f"{{{inside}}}" if inside else ""


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace("\n", "\\n")


def _number(value: float) -> str:
    return str(value) if isinstance(value, int) else repr(float(value))
