"""The Secret with the brokers' certificate and the keys of the lead API; no other object has keys."""

from __future__ import annotations

from base64 import b64encode
from typing import TYPE_CHECKING

from broker_config import curve
from minicluster.plan.constants import (
    CURVE_FILE,
    LEAD_CERTIFICATE,
    LEAD_KEY,
    LEAD_TOKEN,
    METRICS_TOKEN,
    Component,
)
from minicluster.plan.errors import KeysNeededError
from minicluster.plan.objects import names
from minicluster.plan.objects.labels import metadata

if TYPE_CHECKING:
    from collections.abc import Mapping

    from minicluster.document import MiniCluster
    from minicluster.plan.objects.fields import Object
    from minicluster.plan.objects.keys import FreshKeys
    from minicluster.plan.records import Site


def build(cluster: MiniCluster, site: Site, files: Mapping[str, str]) -> Object:
    """Return the immutable Secret with these files."""
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": metadata(cluster, site, names.curve_secret(cluster), Component.CONFIGURATION),
        "type": "Opaque",
        "immutable": True,
        "data": {name: b64encode(text.encode()).decode() for name, text in files.items()},
    }


def files(cluster: MiniCluster, site: Site, keys: FreshKeys | None) -> dict[str, str]:
    """Return the files in the Secret: the certificate, and where there is a lead API, its keys and tokens.

    Raises KeysNeededError where keys are missing.
    """
    return {CURVE_FILE: _certificate(cluster, keys), **(_lead(cluster, keys) if site.lead_api else {})}


def file_names(site: Site) -> tuple[str, ...]:
    """Return the names of the files."""
    return (CURVE_FILE, *((LEAD_CERTIFICATE, LEAD_KEY, LEAD_TOKEN, METRICS_TOKEN) if site.lead_api else ()))


def _certificate(cluster: MiniCluster, keys: FreshKeys | None) -> str:
    """Return the certificate's text: the document's own, else one made from `keys`."""
    if cluster.spec.flux.curve_cert:
        return cluster.spec.flux.curve_cert
    if keys is None:
        raise KeysNeededError(f"Secret {names.curve_secret(cluster)} is to be made: pass fresh keys")
    return curve.render(cluster.metadata.name, keys.curve)


def _lead(cluster: MiniCluster, keys: FreshKeys | None) -> dict[str, str]:
    if keys is None or keys.lead is None:
        raise KeysNeededError(f"Secret {names.curve_secret(cluster)} is to be made: pass the lead API's keys")
    lead = keys.lead
    tokens = {LEAD_TOKEN: lead.token, METRICS_TOKEN: lead.metrics_token}
    return {LEAD_CERTIFICATE: lead.certificate, LEAD_KEY: lead.key, **tokens}
