"""The errors of this package.

PlanError                  no plan can be made from the arguments
├── KeysNeededError        a certificate is to be written, and no keys were passed
└── UnplannableError       a valid document asks for more depth, digits or memory than there are
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from broker_config.errors import BrokerConfigError
from broker_config.formats.errors import ParseError
from minicluster.document.errors import BEYOND_PYTHON, described

if TYPE_CHECKING:
    from collections.abc import Iterator


class PlanError(ValueError):
    """No plan can be made from the arguments."""


class KeysNeededError(PlanError):
    """A certificate is to be written, and no keys were passed."""


class UnplannableError(PlanError):
    """A valid document asks for more depth, digits or memory than there are."""


@contextlib.contextmanager
def unplannable() -> Iterator[None]:
    """Raise UnplannableError in place of what Python raises there; errors of ours pass through."""
    try:
        yield
    except (PlanError, BrokerConfigError, ParseError):
        raise
    except BEYOND_PYTHON as error:
        raise UnplannableError(
            "no plan can be made of this document: a field is too deep or too large, or it has met a defect"
            f" ({described(error)})"
        ) from error
