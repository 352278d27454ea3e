"""A single object, which its watch updates."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from minicluster.kube_client.objects import Name, Object


class Single:
    """Keeps the object, None if there is none; `changed` is called after each change."""

    def __init__(self, changed: Callable[[], None]) -> None:
        self.item: Object | None = None
        self._changed = changed

    def see(self, kind: str, item: Object) -> Iterable[Name]:  # noqa: ARG002  # there is one kind
        """Set the object."""
        self._take(item)
        return ()

    def forget(self, kind: str, item: Object) -> Iterable[Name]:  # noqa: ARG002
        """Note that it is gone."""
        self._take(None)
        return ()

    def replace_all(
        self,
        kind: str,  # noqa: ARG002
        items: Iterable[Object],
        version: int,  # noqa: ARG002
        namespace: str = "",  # noqa: ARG002
    ) -> Iterable[Name]:
        """Set the object from a list, which has it or is empty."""
        self._take(next(iter(items), None))
        return ()

    def _take(self, item: Object | None) -> None:
        self.item = item
        self._changed()
