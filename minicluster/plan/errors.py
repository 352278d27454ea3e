"""The errors of this package.

PlanError                  no plan can be made from what was given
└── KeysNeededError        a certificate is to be written, and no keys were given
"""

from __future__ import annotations


class PlanError(ValueError):
    """No plan can be made from what was given."""


class KeysNeededError(PlanError):
    """A certificate is to be written, and no keys were given."""
