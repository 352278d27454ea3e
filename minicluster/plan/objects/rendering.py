"""The objects of a MiniCluster as `minicluster render` prints them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import yaml

from broker_config.errors import BrokerConfigError
from broker_config.formats.errors import ParseError
from minicluster.plan.errors import UnplannableError, unplannable
from minicluster.plan.objects import curve_secret, followers, job, objects

if TYPE_CHECKING:
    from collections.abc import Iterable

    from minicluster.document import MiniCluster
    from minicluster.plan.objects.fields import Object
    from minicluster.plan.objects.keys import FreshKeys
    from minicluster.plan.records import Site

REDACTED = "(redacted: --with-secrets shows it)"


def render(
    cluster: MiniCluster, site: Site, keys: FreshKeys | None = None, *, with_secrets: bool = False
) -> list[Object]:
    """Return the objects as they are first made; the Secret's data only where it is asked for.

    Raises KeysNeededError where secrets are asked for, and neither `keys` nor the document have them,
    UnplannableError where the document asks for too much, and BrokerConfigError or ParseError for what only
    shows when the brokers' files are written, such as two hosts of one name.
    """
    site = followers.site_of(cluster, site)
    with unplannable():
        files = curve_secret.files(cluster, site, keys) if with_secrets else {}
        secret = curve_secret.build(cluster, site, files)
        shown = secret if with_secrets else _redacted(secret, site)
        return [shown, *objects.build(cluster, site, suspended=job.is_suspended(cluster, None))]


def problem(cluster: MiniCluster, site: Site) -> str:
    """Return why no objects can be made of a valid document; empty: they can."""
    try:
        render(cluster, site)
    except (UnplannableError, BrokerConfigError, ParseError) as error:
        return str(error)
    return ""


def to_yaml(items: Iterable[Object]) -> str:
    """Return the objects as one YAML stream; scripts and configuration stay readable."""
    dumped = (
        yaml.dump(item, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=10_000) for item in items
    )
    return "".join(f"---\n{text}" for text in dumped)


def _redacted(secret: Object, site: Site) -> Object:
    shown = {key: value for key, value in secret.items() if key != "data"}
    return {**shown, "stringData": dict.fromkeys(curve_secret.file_names(site), REDACTED)}


class _Dumper(yaml.SafeDumper):
    """Writes texts of several lines as blocks, and no aliases for what occurs twice."""

    def ignore_aliases(self, _data: Any) -> bool:
        return True


def _text(dumper: _Dumper, data: str) -> yaml.ScalarNode:
    return dumper.represent_scalar("tag:yaml.org,2002:str", data, style="|" if "\n" in data else None)


_Dumper.add_representer(str, _text)
