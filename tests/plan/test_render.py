"""`render()`: what `minicluster render` prints."""

from __future__ import annotations

from base64 import b64decode

import pytest
import yaml

from broker_config import curve
from minicluster.plan import KeysNeededError, Observed, Site, plan, render, to_yaml


def secret_of(items):
    return next(item for item in items if item["kind"] == "Secret")


def test_exactly_the_plans_objects(make, keys, now):
    """With secrets, and the same keys, render shows what the first plan applies."""
    cluster = make({"services": [{"name": "db", "image": "db"}]})
    applied = plan(cluster, Observed(), Site(), keys, now).objects
    assert render(cluster, Site(), keys, with_secrets=True) == list(applied)


def test_secrets_are_redacted(make, keys):
    """Unless asked for, the Secret's data is marked as left out, even the document's own."""
    text = curve.render("mine", keys.curve)
    cluster = make({"flux": {"curveCert": text}})
    for items in (render(cluster, Site()), render(make(), Site(), keys)):
        assert secret_of(items)["stringData"] == {"curve.cert": "(redacted: --with-secrets shows it)"}
        assert "data" not in secret_of(items)
        assert keys.curve.secret not in to_yaml(items)


def test_the_documents_certificate_needs_no_keys(make, keys):
    """A certificate in the document is shown when secrets are asked for."""
    text = curve.render("mine", keys.curve)
    items = render(make({"flux": {"curveCert": text}}), Site(), with_secrets=True)
    assert b64decode(secret_of(items)["data"]["curve.cert"]).decode() == text


def test_secrets_without_keys(make):
    """Asking for secrets that nobody has is an error that says what is needed."""
    with pytest.raises(KeysNeededError, match="pass fresh keys"):
        render(make(), Site(), with_secrets=True)


def test_yaml_reads_back(make):
    """The YAML stream holds the same objects; scripts stand in it as blocks."""
    items = render(make(), Site())
    text = to_yaml(items)
    assert list(yaml.safe_load_all(text)) == items
    assert "  start.sh: |\n    #!/bin/sh\n" in text


def test_suspended_documents_show_no_services_pod(make):
    """What would not be made at first is not shown."""
    cluster = make({"services": [{"name": "db", "image": "db"}], "suspend": True})
    assert "Pod" not in {item["kind"] for item in render(cluster, Site())}
