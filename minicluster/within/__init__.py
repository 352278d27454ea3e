"""For programs inside a MiniCluster: what they may do with the one that they run in.

It imports the standard library, and old Pythons understand it: a program uses it in whatever image it runs,
from the package where that is installed, or from the zip in every pod ($MINICLUSTER_CONFIG/flux_modules.zip).
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
