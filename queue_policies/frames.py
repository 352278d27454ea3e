"""Where an exception came from, in one line: for messages about code that is not ours."""

from __future__ import annotations

import traceback

_FRAMES = 3
_IMPORTS = "<frozen importlib"


def last_frames(error: BaseException) -> str:
    """Return the last calls as ` (FILE:LINE in NAME, …)`, the innermost last; empty without any.

    The frame that caught `error` is left out, and so are those of Python's own imports.
    """
    frames = [each for each in traceback.extract_tb(error.__traceback__)[1:] if _IMPORTS not in each.filename]
    calls = ", ".join(f"{each.filename}:{each.lineno} in {each.name}" for each in frames[-_FRAMES:])
    return f" ({calls})" if calls else ""
