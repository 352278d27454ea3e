"""A policy that is a class in a file, `FILE.py:CLASS`: to try one without making a package of it.

Only the simulator takes one. Brokers and the operator load policies by the names of installed plug-ins, never
by a path that a document gives.
"""

from __future__ import annotations

import functools
import sys
from importlib import util
from pathlib import Path
from typing import TYPE_CHECKING

from queue_policies.errors import PolicyPlugin
from queue_policies.frames import last_frames
from queue_policies.plugins import fault

if TYPE_CHECKING:
    from types import ModuleType

    from queue_policies.policy import Policy


def kind(path: str, name: str) -> type[Policy]:
    """Return the policy of this name in a file. Raises PolicyPlugin."""
    module = _module(Path(path).resolve())
    found: type[Policy] | None = getattr(module, name, None)
    if found is None:
        classes = [each for each in vars(module) if not fault(getattr(module, each))]
        raise PolicyPlugin(f"{path} has no class {name!r}; its policies are {', '.join(classes) or 'none'}")
    if wrong := fault(found):
        raise PolicyPlugin(f"{path} offers {wrong}")
    return found


@functools.cache
def _module(path: Path) -> ModuleType:
    name = f"policy_file_{path.stem}"
    spec = util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None or not path.is_file():
        raise PolicyPlugin(f"{path}: there is no such file")
    module = util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look it up there
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        what = f"{type(error).__name__}: {error}{last_frames(error)}"
        raise PolicyPlugin(f"{path} does not load: {what}") from error
    return module
