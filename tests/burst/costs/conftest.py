"""Ledgers of both kinds."""

from tests.database.urls import url

__all__ = ["url"]
