"""Whether Google's clients are installed, which nobody needs who has no provider of Google's clouds."""

from __future__ import annotations

from importlib.util import find_spec

from burst.errors import CallInvalid


def needed(provider: str, service: str) -> None:
    """Raise CallInvalid where the client of a service, `compute` or `container`, is not installed."""
    try:
        found = find_spec(f"google.cloud.{service}_v1")
    except ModuleNotFoundError:
        found = None
    if found is None:
        raise CallInvalid(
            f"provider {provider} needs google-cloud-{service}: `pip install '.[gke]'` in a checkout"
        )
