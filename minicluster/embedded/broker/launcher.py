"""The private `flux` program: this Python with this package, on the PATH of an instance's own processes."""

from __future__ import annotations

import shlex
import sys
from importlib.util import find_spec
from pathlib import Path

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
    """Return the folders of the packages that brokers import, each once."""
    folders: list[str] = []
    for name in _PACKAGES:
        spec = find_spec(name)
        for location in (spec.submodule_search_locations or ()) if spec else ():
            folder = str(Path(location).parent)
            if folder not in folders:
                folders.append(folder)
    return folders
