"""Kubernetes quantities as numbers (resource.Quantity of k8s.io/apimachinery)."""

from __future__ import annotations

import re
from fractions import Fraction

from minicluster.document.scalars import QUANTITY

_BINARY = {
    name: Fraction(1024) ** power for power, name in enumerate(("Ki", "Mi", "Gi", "Ti", "Pi", "Ei"), 1)
}
_DECIMAL = {
    "n": Fraction(1, 10**9),
    "u": Fraction(1, 10**6),
    "m": Fraction(1, 10**3),
    "": Fraction(1),
    **{name: Fraction(1000) ** power for power, name in enumerate("kMGTPE", 1)},
}
_PARTS = re.compile(r"(?P<number>[+-]?[0-9.]+)(?P<suffix>[a-zA-Z]*)(?P<exponent>[+-]?[0-9]*)")


def quantity(text: str) -> Fraction:
    """Return the exact number of a quantity: `500m` is 1/2, `1Ki` is 1024.

    Raises ValueError for a text that is no quantity.
    """
    parts = _PARTS.fullmatch(text)
    if re.fullmatch(QUANTITY, text) is None or parts is None:
        raise ValueError(f"{text!r} is not a Kubernetes quantity")
    number = Fraction(_completed(parts["number"]))
    if parts["exponent"]:
        return number * Fraction(10) ** int(parts["exponent"])
    return number * (_BINARY.get(parts["suffix"]) or _DECIMAL[parts["suffix"]])


def _completed(number: str) -> str:
    """Return the number with a digit after a final point, as Fraction needs one."""
    return f"{number}0" if number.endswith(".") else number
