"""The errors of this package.

PlanError                  no plan can be made from the arguments
└── KeysNeededError        a certificate is to be written, and no keys were passed
"""

from __future__ import annotations


class PlanError(ValueError):
    """No plan can be made from the arguments."""


class KeysNeededError(PlanError):
    """A certificate is to be written, and no keys were passed."""
