"""Axes and labels of the page's charts."""

from __future__ import annotations

import itertools
import re

import pytest

from queue_policies.simulator.report.axis import SECONDS, Axis, Unit, time_unit
from queue_policies.simulator.report.drawing import CHARACTER, COLOURS, LINE, Box, curves, key, scatter

MINUTES, HOURS, DAYS = Unit(60, "min"), Unit(3600, "h"), Unit(86400, "d")


@pytest.mark.parametrize(
    ("axis", "words"),
    [
        (Axis(0, 1, "", percent=True), "0% 20% 40% 60% 80% 100%"),
        (Axis(0, 7200, "", HOURS), "0.0 0.5 1.0 1.5 2.0"),
        (Axis(0, 7200, "", MINUTES), "0 20 40 60 80 100 120"),
        (Axis(0, 4e5, "", HOURS), "0 20 40 60 80 100"),
        (Axis(1e6, 1.2e6, "", MINUTES), "17,000 17,500 18,000 18,500 19,000 19,500 20,000"),
        (Axis(0, 8, "", SECONDS), "0 1 2 3 4 5 6 7 8"),
        (Axis(0, 16, ""), "0 2 4 6 8 10 12 14 16"),
        (Axis(0, 0.8, ""), "0.0 0.1 0.2 0.3 0.4 0.5 0.6 0.7 0.8"),
        (Axis(0, 4, "", whole=True), "0 1 2 3 4"),
        (Axis(0.5, 40, "", log=True), "0.5 1 2 5 10 20"),
        (Axis(0.5, 4000, "", log=True), "1 3 10 30 100 300 1,000 3,000"),
        (Axis(6, 9000, "", MINUTES, log=True), "0.1 0.3 1 3 10 30 100"),
        (Axis(3, 3, ""), "3.0"),
    ],
)
def test_axes_have_round_numbers(axis: Axis, words: str) -> None:
    assert [word for _, word in axis.ticks()] == words.split()


@pytest.mark.parametrize(
    ("lengths", "unit"),
    [
        ((100,), SECONDS),
        ((120,), MINUTES),
        ((7200,), HOURS),
        ((6 * 86400,), DAYS),
        ((6 * 86400, 7300), HOURS),
        ((6 * 86400, 10), SECONDS),
        ((0,), SECONDS),
    ],
)
def test_a_plot_has_the_largest_unit_of_which_each_axis_has_two(lengths: list[float], unit: Unit) -> None:
    assert time_unit(*lengths) == unit


def test_the_unit_is_in_the_title_and_not_at_the_ticks() -> None:
    assert (Axis(0, 7200, "wait", HOURS).title, Axis(0, 1, "share").title) == ("wait, h", "share")


def test_labels_cover_neither_points_nor_each_other() -> None:
    """Five policies with nearly the same metrics."""
    names = ("conservative", "easy", "fcfs", "water-filling", "common-pool")
    points = [(name, (50.0 + index, 50.0 + index % 2)) for index, name in enumerate(names)]
    chart = scatter(Axis(0, 100, "wait"), Axis(0, 100, "makespan"), points, [])
    labels = [
        Box(float(x), float(y) + 3 - LINE, float(x) + CHARACTER * len(name), float(y) + 3)
        for x, y, name in re.findall(r'<text x="([\d.]+)" y="([\d.]+)">([a-z-]+)</text>', chart)
    ]
    dots = [
        Box(float(x) - 4, float(y) - 4, float(x) + 4, float(y) + 4)
        for x, y in re.findall(r'cx="([\d.]+)" cy="([\d.]+)"', chart)
    ]
    assert (len(labels), len(dots)) == (5, 5)
    assert not any(label.overlaps(dot) for label in labels for dot in dots)
    assert not any(one.overlaps(other) for one, other in itertools.combinations(labels, 2))


def test_sixteen_policies_differ_in_every_chart_and_in_the_legend() -> None:
    """Colours repeat after twelve."""
    names = [f"policy-{number}" for number in range(3 * len(COLOURS))]
    axis = Axis(0, 100, "wait")
    lines = re.findall(
        r'stroke="(#\w+)" stroke-width="1.4" stroke-dasharray="([^"]+)"',
        curves(axis, axis, [(name, [(0.0, 0.0), (1.0, 1.0)]) for name in names]),
    )
    dots = re.findall(
        r'<circle [^>]*(fill="[^>]+)/>',
        scatter(axis, axis, [(name, (float(index), 50.0)) for index, name in enumerate(names)], []),
    )
    entries = [key(index, "") for index in range(len(names))]
    for each in (lines, dots, entries):
        assert len(set(each)) == len(names)
