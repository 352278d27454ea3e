"""Nonlinear least squares by Levenberg and Marquardt, for a few parameters, with differences as derivatives.

Source: Marquardt, "An Algorithm for Least-Squares Estimation of Nonlinear Parameters", SIAM J. 11, 1963.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

MAX_STEP = 0.5
"""No parameter changes by more in a step."""
ENOUGH = 1e-3
"""A step that takes off less than this part of the cost is the last one."""


class Minimum(NamedTuple):
    """Where the search ended."""

    at: tuple[float, ...]
    cost: float
    """The sum of the squares there."""


def minimize(
    residuals: Callable[[Sequence[float]], Sequence[float]],
    start: Sequence[float],
    steps: int = 12,
    width: float = 0.03,
) -> Minimum:
    """Return the least sum of squares that is found in so many steps; `width` is that of the differences."""
    at, found, damping = list(start), list(residuals(start)), 0.1
    cost = _cost(found)
    for _ in range(steps):
        columns = [_column(residuals, at, found, index, width) for index in range(len(at))]
        for _ in range(5):
            moved = _moved(at, columns, found, damping)
            there = list(residuals(moved))
            if _cost(there) < cost:
                break
            damping *= 4
        else:
            break
        damping /= 3
        less = cost - _cost(there)
        at, found, cost = moved, there, cost - less
        if less < ENOUGH * cost:
            break
    return Minimum(tuple(at), cost)


def _cost(found: Sequence[float]) -> float:
    return sum(value * value for value in found)


def _column(
    residuals: Callable[[Sequence[float]], Sequence[float]],
    at: Sequence[float],
    found: Sequence[float],
    index: int,
    width: float,
) -> list[float]:
    """Return the derivative of each residual by one parameter."""
    beside = list(at)
    beside[index] += width
    return [(one - other) / width for one, other in zip(residuals(beside), found, strict=True)]


def _moved(
    at: Sequence[float], columns: Sequence[Sequence[float]], found: Sequence[float], damping: float
) -> list[float]:
    normal = [[_dot(one, other) for other in columns] for one in columns]
    for index, row in enumerate(normal):
        row[index] += damping * (1 + row[index])
    step = solved(normal, [-_dot(column, found) for column in columns])
    return [value + max(-MAX_STEP, min(MAX_STEP, by)) for value, by in zip(at, step, strict=True)]


def _dot(one: Sequence[float], other: Sequence[float]) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))


def solved(matrix: Sequence[Sequence[float]], right: Sequence[float]) -> list[float]:
    """Return the solution of a system of linear equations, by elimination with pivots."""
    rows = [[*row, value] for row, value in zip(matrix, right, strict=True)]
    count = len(rows)
    for index in range(count):
        pivot = max(range(index, count), key=lambda number: abs(rows[number][index]))
        rows[index], rows[pivot] = rows[pivot], rows[index]
        for below in rows[index + 1 :]:
            factor = below[index] / rows[index][index]
            for column in range(index, count + 1):
                below[column] -= factor * rows[index][column]
    found = [0.0] * count
    for index in reversed(range(count)):
        rest = sum(rows[index][column] * found[column] for column in range(index + 1, count))
        found[index] = (rows[index][count] - rest) / rows[index][index]
    return found
