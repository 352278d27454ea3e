"""What differs from run to run is masked, in such a way that columns keep their width."""

from __future__ import annotations

import getpass
import re
from collections.abc import Mapping
from typing import Any

_F58 = "[1-9A-HJ-NP-Za-km-z]"
_DATE = (
    r"\b(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) ?[ 0-9][0-9] [0-9]{2}:[0-9]{2}"
    r"(?::[0-9]{2}(?:\.[0-9]+)?(?: UTC 20[0-9]{2})?)?"
)
_PATTERNS: tuple[tuple[str, str], ...] = (
    (r"\"rlimit\": \{[^}]*\}", '"rlimit": {...}'),
    (rf"ƒ{_F58}{{1,12}}", "ƒ"),
    (r"\(host [^)]+\)", "(host <host>)"),
    (r"\b1[0-9]{9}\.[0-9]+\b", "<time>"),
    (r"\b20[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9:.]+(?:Z|[+-][0-9:]+)?", "<date>"),
    (_DATE, "<date>"),
    (r"\b[0-9]{2}:[0-9]{2}:[0-9]{2}\b", "<clock>"),
    (r"(?<![\w.])[0-9]+(?:\.[0-9]+)?(?:e-[0-9]+)?(?:ms|s|m)(?![\w.])", "<span>"),
    (r"\b0\.(?:8[0-9]|1)\.[0-9]+(?:-[0-9]+-g[0-9a-f]+)?\b", "<version>"),
)  # fmt: skip


def text(raw: str, known: Mapping[str, str], folder: str) -> str:
    """Mask a command's output; `known` are values with names of their own, like a job's id."""
    raw = re.sub(r"\x1b\[[0-9;]*m", "", raw).replace(folder, "<dir>")  # colours
    for name, value in sorted(known.items(), key=lambda pair: -len(pair[1])):
        if value:
            raw = _padded(re.escape(value) + r"(?!\w)", f"<{name}>", raw)
    raw = _padded(rf"\b{re.escape(getpass.getuser())}\b", "<user>", raw)
    for pattern, mask in _PATTERNS:
        raw = _padded(pattern, mask, raw)
    return re.sub(r'("?userid"?[:=] ?)[0-9]+', r"\1<uid>", raw)


def _padded(pattern: str, mask: str, raw: str) -> str:
    """Put `mask` for each match; where two spaces or more are beside it, the column keeps its width."""

    def replaced(match: re.Match[str]) -> str:
        before, found, behind = match[1], match[2], match[3]
        if len(before) > 1:
            return mask.rjust(len(before) + len(found)) + behind
        if len(behind) > 1:
            return before + mask.ljust(len(found) + len(behind))
        return before + mask + behind

    return re.sub(rf"( *)({pattern})( *)", replaced, raw)


def observation(seen: Any, ids: Mapping[int, str], folder: str) -> Any:
    """Mask what port methods returned and make it plain JSON."""
    if isinstance(seen, Mapping):
        return {
            str(key): "<uid>" if key == "userid" else observation(value, ids, folder)
            for key, value in seen.items()
        }
    if isinstance(seen, list | tuple):
        return [observation(each, ids, folder) for each in seen]
    if isinstance(seen, bytes):
        return observation(seen.decode(errors="backslashreplace"), ids, folder)
    if isinstance(seen, str):
        return _text(seen, ids, folder)
    if isinstance(seen, bool | None) or not isinstance(seen, int | float):
        return seen
    return f"<{ids[int(seen)]}>" if seen in ids else "<time>" if seen > 1e9 else seen


def _text(raw: str, ids: Mapping[int, str], folder: str) -> str:
    for jobid, name in ids.items():
        raw = raw.replace(str(jobid), f"<{name}>")
    raw = raw.replace(folder, "<dir>")
    for pattern, mask in _PATTERNS:
        raw = re.sub(pattern, mask, raw)
    return raw
