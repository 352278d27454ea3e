"""What the adapter behind a real API server answers."""

from typing import Any

from tests.devcluster import Api, ApiError, until
from tests.kubernetes import operators

CLUSTERS = "miniclusters.flux-framework.org"


def value(api: Api, path: str) -> str:
    """Return the one value at a path."""
    [item] = api.get(path)["items"]
    return str(item["value"])


def known(api: Api, path: str) -> dict[str, Any]:
    """Wait until the adapter has the object at a path; return the answer."""
    until(lambda: api.exists(path), path, operators.SECONDS)
    return api.get(path)


def refusal(api: Api, path: str) -> tuple[int, str]:
    """Return the code and the message with which a path is refused."""
    try:
        api.get(path)
    except ApiError as error:
        return error.status, str(error)
    raise AssertionError(f"{path} was answered")
