"""Fixtures of tests of rehearsals."""

from tests.cli.calls import call

__all__ = ["call"]
