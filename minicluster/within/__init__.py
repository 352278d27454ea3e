"""For programs inside a MiniCluster: they can change the size of the one that they run in.

It imports the standard library alone and runs in old Pythons, as images have different ones. A program uses
the installed package, or the zip in every pod ($MINICLUSTER_CONFIG/flux_modules.zip).
"""

from minicluster.within.errors import DeniedError, NotInsideError, RefusedError, UnreachableError, WithinError
from minicluster.within.scaling import is_inside, scale

__all__ = [
    "DeniedError",
    "NotInsideError",
    "RefusedError",
    "UnreachableError",
    "WithinError",
    "is_inside",
    "scale",
]
