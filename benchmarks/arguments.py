"""What options of these scripts may be, for argparse: what is wrong is the error of its option."""

from __future__ import annotations

import argparse
import math

from queue_policies.errors import PolicyError
from queue_policies.simulator.selection import placement_named, policy_named


def parser(doc: str | None) -> argparse.ArgumentParser:
    """Return the parser of a script, whose docstring is its help: the usage in it is left out."""
    first, _usage, *rest = (doc or "").strip().split("\n\n")
    return argparse.ArgumentParser(
        description=first,
        epilog="\n\n".join(rest),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add the option for JSON."""
    parser.add_argument("--json", action="store_true", help="print one JSON object in place of tables")


def add_policies(parser: argparse.ArgumentParser) -> None:
    """Add the option for further policies."""
    parser.add_argument(
        "--policy", type=policy, action="append", default=[], help="one more policy; may be repeated"
    )


def policy(text: str) -> str:
    """Return the word of a policy."""
    try:
        policy_named(text)
    except PolicyError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    return text


def placement(text: str) -> str:
    """Return the word of a placement."""
    try:
        placement_named(text)
    except PolicyError as error:
        raise argparse.ArgumentTypeError(str(error)) from error
    return text


def count(text: str) -> int:
    """Return a whole number from 1 on."""
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"{text!r}; needed is a whole number from 1 on")
    return int(text)


def number(text: str) -> int:
    """Return a whole number from 0 on."""
    if not text.isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r}; needed is a whole number from 0 on")
    return int(text)


def seconds(text: str) -> float:
    """Return seconds from 0 on; `inf` is endless."""
    return _between(text, 0, math.inf, "seconds from 0 on")


def gaps(text: str) -> list[float]:
    """Return seconds with commas between them."""
    return [seconds(gap) for gap in text.split(",")]


def percent(text: str) -> float:
    """Return a number from 0 to 100."""
    return _between(text, 0, 100, "a number from 0 to 100")


def fraction(text: str) -> float:
    """Return a number from 0 to 1."""
    return _between(text, 0, 1, "a number from 0 to 1")


def _between(text: str, low: float, high: float, needed: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not low <= value <= high:
        raise argparse.ArgumentTypeError(f"{text!r}; needed is {needed}")
    return value
