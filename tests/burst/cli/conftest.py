"""Fixtures of tests of commands about bursts."""

from tests.cli.calls import call

__all__ = ["call"]
