"""The topics by which a burst service writes spools, over any connection in lines to the lead.

They are not the broker's: who serves the lines answers them, beside the lead.

    helper.stand-in-open    {label, job, successor}       → {path, program}: its folder, what a stand-in runs
    helper.stand-in-status  {label}                       → {record}: `spool.SpoolRecord`, or null
    helper.stand-in-write   {label, stream, offset, data} → {received}; `data` in Base64
    helper.stand-in-end     {label, status, digest, note} → {}
    helper.stand-in-clear   {label}                       → {}
"""

from __future__ import annotations

import base64
import binascii
import errno
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from minicluster.stand_in.errors import SpoolError
from minicluster.stand_in.spool import Spool

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    JSON = dict[str, Any]

PREFIX = "helper.stand-in-"
OPEN, STATUS, WRITE, END, CLEAR = (PREFIX + verb for verb in ("open", "status", "write", "end", "clear"))
TOPICS = (OPEN, STATUS, WRITE, END, CLEAR)
MAX_WRITE_BYTES = 1 << 20
"""Of one write, so that a line has room for it."""
_CODE = """\
import sys
sys.path.insert(0, sys.argv.pop(1))
from minicluster.stand_in.program import main
sys.exit(main(sys.argv[1:]))"""
OPTIONS = ("-I", "-X", "utf8", "-c", _CODE)
"""Of the Python that runs a stand-in: with them its program is known."""


def answer(attribute: Callable[[str], str], topic: str, payload: JSON) -> JSON:
    """Return the answer to a request. `attribute` returns a broker attribute, empty where there is none.

    Raises SpoolError, and KeyError, TypeError and ValueError for what is malformed.
    """
    spool = Spool(attribute("statedir") or attribute("rundir"), payload["label"])
    if topic == OPEN:
        spool.open(int(payload["job"]), is_successor=bool(payload["successor"]))
        return {"path": str(spool.path), "program": program()}
    if topic == STATUS:
        record = spool.record()
        return {"record": None if record is None else record._asdict()}
    if topic == WRITE:
        return {"received": spool.write(payload["stream"], int(payload["offset"]), _decoded(payload["data"]))}
    if topic == END:
        spool.end(int(payload["status"]), str(payload["digest"]), str(payload["note"]))
    elif topic == CLEAR:
        spool.clear()
    else:
        raise SpoolError(errno.ENOSYS, f"there is no topic {topic}")
    return {}


def program() -> list[str]:
    """Return the command of a stand-in without arguments: it runs from where this does, a zip or a folder."""
    root = str(Path(__file__).absolute().parents[2])
    return [sys.executable, *OPTIONS, root]


def _decoded(text: str) -> bytes:
    try:
        found = base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise SpoolError(errno.EINVAL, f"data: {error}") from None
    if len(found) > MAX_WRITE_BYTES:
        raise SpoolError(errno.EINVAL, f"data: more than {MAX_WRITE_BYTES} bytes in one write")
    return found
