"""The errors of the adapter itself; those of its answers are in `metrics_api.answers.errors`.

AdapterError
└── AdapterSettingsError   the adapter cannot work in this way: names what is missing, and what to do
"""

from __future__ import annotations


class AdapterError(Exception):
    """Root of the tree."""


class AdapterSettingsError(AdapterError):
    """The adapter cannot work in this way."""
