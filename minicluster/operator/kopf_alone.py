"""kopf without the official client, which it imports where there is one, for the types of models.

Nobody here passes it such models, and an operator's pod needs nothing else of that client: 10 MB and 0.1 s.
"""

from __future__ import annotations

import sys

_CLIENT = "kubernetes"
_known = _CLIENT in sys.modules
if not _known:
    sys.modules[_CLIENT] = None  # type: ignore[assignment]  # as the import system marks what is not there
try:
    import kopf
finally:
    if not _known:
        del sys.modules[_CLIENT]

__all__ = ["kopf"]
