"""What keeps the adapter from working; its answers without a value are `metrics_api.answers.errors`.

AdapterError
└── AdapterSettingsError   the adapter cannot work so: says what is missing, and what to do
"""

from __future__ import annotations


class AdapterError(Exception):
    """Root of the tree."""


class AdapterSettingsError(AdapterError):
    """The adapter cannot work so."""
