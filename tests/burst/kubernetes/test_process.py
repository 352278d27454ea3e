"""The service as a process: what it logs of its providers."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from burst.kubernetes import process

if TYPE_CHECKING:
    import pytest


class AskedProvider:
    """A provider that names its problems, or fails."""

    def __init__(self, *problems: str, error: Exception | None = None) -> None:
        self.found = problems
        self.error = error

    def problems(self) -> list[str]:
        if self.error is not None:
            raise self.error
        return list(self.found)


def test_what_is_wrong_with_each_provider_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    asked = {
        "good": AskedProvider(),
        "broken": AskedProvider(error=ValueError("a plug-in's")),
        "far": AskedProvider("no tunnel can be", "the quota is used up"),
    }
    asyncio.run(process._warn(asked))  # type: ignore[arg-type]
    assert caplog.messages == [
        "provider broken cannot be asked what is wrong with it: a plug-in's",
        "provider far: no tunnel can be",
        "provider far: the quota is used up",
    ]
