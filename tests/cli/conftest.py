"""Fixtures of tests of the command line."""

from tests.cli.calls import call

__all__ = ["call"]
