"""What keeps the adapter from working; its answers without a value are `metrics_api.answers.errors`.

AdapterError
└── ConfigurationError     the adapter cannot work so: says what is missing, and what to do
"""

from __future__ import annotations


class AdapterError(Exception):
    """Root of the tree."""


class ConfigurationError(AdapterError):
    """The adapter cannot work so."""
