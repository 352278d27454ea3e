"""Who asks, within the rate that each user has, as routes write it: `Depends(asker("jobs:read"))`."""

from restful.routes.access import requires
from restful.routes.admission import admit, services_of

__all__ = ["admit", "asker", "services_of"]

asker = requires
