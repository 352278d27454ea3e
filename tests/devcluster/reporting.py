"""Ends a test where there is no cluster: it is skipped with the reason, or fails under CI=true."""

import os
from collections.abc import Mapping
from typing import NoReturn

import pytest


def unavailable(
    reason: object, environ: Mapping[str, str] = os.environ, what: str = "Kubernetes control plane"
) -> NoReturn:
    """Skip the test, or fail it under CI=true."""
    if environ.get("CI") == "true":
        pytest.fail(f"CI=true, where this may not be skipped: {reason}", pytrace=False)
    pytest.skip(f"no {what} here: {reason}")
