"""The routes that an application has, whether or not its OpenAPI document has them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fastapi import FastAPI


def served(app: FastAPI) -> set[tuple[str, str]]:
    """Return the methods and paths. HEAD is left out where it is GET without a body."""
    found = set()
    for route in _flat(app.routes):
        for method in route.methods or ():
            found.add((method, route.path))
    return {key for key in found if key[0] != "HEAD" or key[1] != "/openapi.json"}


def _flat(routes: Iterable[Any]) -> Iterable[Any]:
    """Yield routes, those of included routers as well, which FastAPI keeps apart."""
    for route in routes:
        if hasattr(route, "effective_candidates"):
            yield from _flat(route.effective_candidates())
        else:
            yield route


def documented(app: FastAPI) -> set[tuple[str, str]]:
    """Return the methods and paths of the document."""
    return {(method.upper(), path) for path, found in app.openapi()["paths"].items() for method in found}
