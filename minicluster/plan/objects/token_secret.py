"""The second Secret: a token of the lead API for each purpose. It may be replaced, unlike the first one.

It is written before the PodDisruptionBudget, which has an annotation with the generations of its tokens. By
that the operator knows what it has written: it may create and delete Secrets, and read none. One that takes
the place of another has the generations of that in an annotation. One without takes nothing's place: where
it is there, an operator that died before it could note so has made it.
"""

from __future__ import annotations

from base64 import b64encode
from typing import TYPE_CHECKING

from minicluster.plan.constants import ANNOTATION_REPLACES, Component
from minicluster.plan.objects import names
from minicluster.plan.objects.labels import metadata

if TYPE_CHECKING:
    from minicluster.document import MiniCluster
    from minicluster.plan.objects.fields import Object
    from minicluster.plan.objects.keys import FreshKeys
    from minicluster.plan.records import Observed, Site


def is_due(observed: Observed, site: Site) -> bool:
    """Whether it is to be written: it is not there, or has tokens of other generations."""
    return site.lead_api and observed.tokens != str(site.generations)


def build(cluster: MiniCluster, observed: Observed, site: Site, keys: FreshKeys | None) -> Object | None:
    """Return the Secret; None: no tokens are given."""
    if keys is None or keys.lead is None or not keys.lead.tokens:
        return None
    about = metadata(cluster, site, names.token_secret(cluster), Component.CONFIGURATION)
    if observed.tokens:
        about["annotations"] = {ANNOTATION_REPLACES: observed.tokens}
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": about,
        "type": "Opaque",
        "data": {name: b64encode(text.encode()).decode() for name, text in keys.lead.tokens.items()},
    }
