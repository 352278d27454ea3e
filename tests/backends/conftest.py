"""Fixtures of tests of the port of back ends."""

from tests.backends.memory_calls import call_memory

__all__ = ["call_memory"]
