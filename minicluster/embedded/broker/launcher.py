"""The private `flux` program: this Python with this package, on the PATH of an instance's own processes."""

from __future__ import annotations

import shlex
import sys
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path

from queue_policies import plugins

_SCRIPT = """\
#!/bin/sh
# The `flux` of minicluster's embedded instance, for its own processes only.
exec {python} -I -S -X utf8 -c {code} "$@"
"""
# asyncio loads OpenSSL where it can: 4 MB and 8 ms in every broker, which uses CURVE and does not need it.
_CODE = """\
import sys
sys.path += {paths!r}
sys.modules["ssl"] = None
from minicluster.embedded.main import main
sys.exit(main(sys.argv[1:]))
"""
_PACKAGES = ("minicluster", "broker_config", "queue_policies", "zmq", "pluggy")
_ROUTES = "minicluster.door_routes"
"""The group in lead_server/extensions.py, a room above this one."""


def write_bin(directory: Path) -> Path:
    """Write the executable `flux` into `directory` (made if absent) and return its path.

    It starts without `site` (half of Python's own start time), so it contains the folders of the packages.
    """
    directory.mkdir(parents=True, exist_ok=True)
    flux = directory / "flux"
    fresh = directory / ".flux.new"
    fresh.write_text(script(sys.executable, _search_path()), "utf-8", "surrogateescape")
    fresh.chmod(0o755)
    fresh.replace(flux)
    return flux


def script(python: str, paths: list[str]) -> str:
    """Return the program `flux` for a Python that finds the packages in `paths`."""
    code = _CODE.format(paths=paths)
    return _SCRIPT.format(python=shlex.quote(python), code=shlex.quote(code))


def _search_path() -> list[str]:
    """Return the folders of what brokers import, each once: of our packages, and of plug-ins.

    A plug-in's code may be elsewhere than its metadata: an editable installation leaves it in its sources.
    """
    found = [*entry_points(group=plugins.GROUP), *entry_points(group=_ROUTES)]
    names = [*_PACKAGES, *(each.module.partition(".")[0] for each in found)]
    folders = [folder for name in names for folder in _folders(name)]
    folders += [str(each.dist.locate_file("")) for each in found if each.dist]
    return list(dict.fromkeys(folders))


def _folders(name: str) -> list[str]:
    """Return the folders that a package or a module is in; none of what is not there."""
    spec = find_spec(name)
    if spec is None:
        return []
    paths = spec.submodule_search_locations or ([spec.origin] if spec.has_location and spec.origin else [])
    return [str(Path(path).parent) for path in paths]
