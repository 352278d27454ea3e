"""The lead's door: what is in the MiniCluster's objects for it, where an operator is there to use it."""

from __future__ import annotations

import tomllib
from base64 import b64decode
from typing import Any

import pytest

from broker_config import curve
from minicluster import flux_zips
from minicluster.flux_zips import FluxFiles
from minicluster.plan import FreshKeys, KeysNeededError, LeadKeys, Observed, Site, lead_hosts, plan, render
from minicluster.plan.objects.names import FLUX_FILES

SITE = Site(lead_api=True)
LEAD_KEYS = LeadKeys("the certificate", "the key", "the token", "the metrics token")
KEYS = FreshKeys(curve.generate(), LEAD_KEYS)


def made(make: Any, now: Any, kind: str, site: Site = SITE) -> dict[str, Any]:
    objects = plan(make(), Observed(), site, KEYS, now).objects
    return next(each for each in objects if each["kind"] == kind and each["metadata"]["name"] != FLUX_FILES)


def flux_files(make: Any, now: Any, site: Site = SITE) -> dict[str, Any]:
    """Return what the namespace's MiniClusters have together."""
    objects = plan(make(), Observed(), site, KEYS, now).objects
    return next(each for each in objects if each["metadata"]["name"] == FLUX_FILES)


def test_its_keys_are_in_the_secret(make, now):
    data = {name: b64decode(text).decode() for name, text in made(make, now, "Secret")["data"].items()}
    assert {**data, "curve.cert": "…"} == {
        "curve.cert": "…",
        "door.crt": "the certificate",
        "door.key": "the key",
        "door.token": "the token",
        "metrics.token": "the metrics token",
    }


@pytest.mark.parametrize(
    ("wanted", "service"),
    [({}, "hpc.science.svc"), ({"network": {"headlessName": "own"}}, "own.science.svc")],
)
def test_the_leads_pod_is_found_by_these_names(make, wanted, service):
    """As DNS has them, short and whole."""
    assert lead_hosts(make(wanted)) == (f"hpc-0.{service}", f"hpc-0.{service}.cluster.local")


def test_only_the_owner_can_read_them(make, now):
    (volume,) = (
        each
        for each in made(make, now, "Job")["spec"]["template"]["spec"]["volumes"]
        if each["name"] == "minicluster-curve"
    )
    assert volume["secret"]["defaultMode"] == 0o400


def test_its_modules_are_in_the_config_map(make, now):
    assert b64decode(flux_files(make, now)["binaryData"][flux_zips.ZIP]) == flux_zips.pack()
    assert flux_zips.module_files().items() <= made(make, now, "ConfigMap")["data"].items()


def test_the_brokers_settings_name_where_its_files_are(make, now):
    text = made(make, now, "ConfigMap", Site(lead_api=True, lead_api_port=9443))["data"]["broker.toml"]
    assert "9443" in text
    assert "/etc/minicluster-curve" in text


READERS = {"autoscaling": {"tlsSecret": "tls"}}


def test_the_documents_own_certificate_is_where_the_lead_reads_it(make, now):
    objects = {each["kind"]: each for each in plan(make(READERS), Observed(), SITE, KEYS, now).objects}
    module = tomllib.loads(objects["ConfigMap"]["data"]["broker.toml"])["minicluster"]["modules"]["door"]
    pod = objects["Job"]["spec"]["template"]["spec"]
    mounts = {each["mountPath"]: each["name"] for each in pod["containers"][0]["volumeMounts"]}
    name = mounts[module["metrics-tls"]]
    (volume,) = (each for each in pod["volumes"] if each["name"] == name)
    assert volume["secret"] == {"secretName": "tls", "defaultMode": 0o400}


def test_the_lead_knows_whose_metrics_the_api_server_may_ask_for(make, now):
    objects = {each["kind"]: each for each in plan(make(READERS), Observed(), SITE, KEYS, now).objects}
    text = objects["ConfigMap"]["data"]["broker.toml"]
    module = tomllib.loads(text)["minicluster"]["modules"]["door"]
    assert (module["namespace"], module["name"], module["service"]) == ("science", "hpc", "hpc")


def test_where_there_is_no_lead_api_it_is_not_needed(make):
    """Such as on a laptop, where nobody has that Secret."""
    (job,) = (each for each in render(make(READERS), Site()) if each["kind"] == "Job")
    assert "tls" not in str(job["spec"]["template"]["spec"]["volumes"])


@pytest.mark.parametrize("kind", ["Secret", "ConfigMap"])
def test_without_an_operator_there_is_none(make, now, kind):
    """Nobody would have the other half of its keys."""
    item = made(make, now, kind, Site())
    assert "binaryData" not in item
    assert not {"door.key", *flux_zips.module_files()} & item["data"].keys()


def test_no_key_is_anywhere_else(make, now):
    others = [each for each in plan(make(), Observed(), SITE, KEYS, now).objects if each["kind"] != "Secret"]
    assert "the token" not in str(others)
    assert "the key" not in str(others)


def test_its_keys_are_needed(make, now):
    with pytest.raises(KeysNeededError, match="is to be made: pass the lead API's keys"):
        plan(make(), Observed(), SITE, FreshKeys(KEYS.curve), now)


def test_the_documents_own_certificate_does_not_open_it(make, now):
    """So its keys are needed all the same."""
    cluster = make({"flux": {"curveCert": curve.render("mine", KEYS.curve)}})
    secret = plan(cluster, Observed(), SITE, KEYS, now).objects[0]
    assert b64decode(secret["data"]["door.token"]).decode() == "the token"


def test_rendered_they_are_left_out(make):
    secret = next(each for each in render(make(), SITE) if each["kind"] == "Secret")
    assert set(secret["stringData"]) == {"curve.cert", "door.crt", "door.key", "door.token", "metrics.token"}
    assert set(secret["stringData"].values()) == {"(redacted: --with-secrets shows it)"}


def test_files_for_flux_come_with_the_site(make, now):
    """Nothing else decides what a ConfigMap holds of what is installed."""
    files = FluxFiles(lambda: {"a.py": "1"}, lambda: b"zip", dict, lambda: b"")
    site = Site(lead_api=True, flux_files=files)
    item = made(make, now, "ConfigMap", site)
    assert item["data"]["a.py"] == "1"
    assert flux_files(make, now, site)["binaryData"] == {flux_zips.ZIP: "emlw", flux_zips.SCHEDULER_ZIP: ""}
    assert not flux_zips.module_files().keys() & item["data"].keys()
