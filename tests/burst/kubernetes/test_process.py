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

    def tunnel_problems(self) -> list[str]:
        return ["no tunnel can be", *self.found] if self.found else []


def test_what_is_wrong_with_each_provider_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    asked = {
        "good": AskedProvider(),
        "broken": AskedProvider(error=ValueError("a plug-in's")),
        "far": AskedProvider("the server is away", "the quota is used up"),
    }
    asyncio.run(process._warn(asked, has_tunnels=False))  # type: ignore[arg-type]
    expected = [
        "provider broken cannot be asked what is wrong with it: a plug-in's",
        "provider far: the server is away",
        "provider far: the quota is used up",
    ]
    assert caplog.messages == expected
    caplog.clear()
    asyncio.run(process._warn(asked, has_tunnels=True))  # type: ignore[arg-type]
    assert caplog.messages == [*expected, "provider far: no tunnel can be"]
