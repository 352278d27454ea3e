"""Who pays for a job of the RESTful API, verified where the job is all that is there."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from burst.leads.payer_keys import PayerKeys
from minicluster.instance import payers
from minicluster.instance.jobspec import jobspec
from minicluster.instance.records import JobRequest
from restful.jobs.seal import Seal, SealedRequest

SEAL = Seal(b"k" * 32)
KEYS = PayerKeys([Seal(b"o" * 32).payer_key, SEAL.payer_key])
SPEC = jobspec(JobRequest(("true",), environment={}, cwd="/", duration=60.0, system={"burstable": True}))
REQUEST = SealedRequest("instance", "01USER", "01ROW")
MARKED = SEAL.marked(SPEC, REQUEST, "ada")


def changed(*path: str, value: Any) -> dict[str, Any]:
    found = copy.deepcopy(MARKED)
    target = found
    for part in path[:-1]:
        target = target.setdefault(part, {})
    target[path[-1]] = value
    return found


def test_the_name_of_the_user_is_verified() -> None:
    found = KEYS.verified(MARKED)
    assert found is not None
    assert (found.user, found.row) == ("ada", "01ROW")


def test_it_holds_after_a_restart() -> None:
    dependencies = [{"scheme": "afternotok", "value": "7"}]
    again = changed("attributes", "system", "dependencies", value=dependencies)
    again["attributes"]["user"]["minicluster"]["restart_of"] = 7
    assert KEYS.verified(again) == KEYS.verified(MARKED)


STATED = MARKED["attributes"]["user"]["minicluster"]["payer"]
FORGED = str(payers.PayerStatement("01ROW", "eve", payers.read(MARKED["attributes"]["user"]).signature))  # type: ignore[union-attr]


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param(SPEC, id="none"),
        pytest.param(changed("attributes", "system", "duration", value=6000.0), id="longer"),
        pytest.param(changed("tasks", value=[{"command": ["false"]}]), id="another command"),
        pytest.param(changed("attributes", "user", "minicluster", "payer", value=FORGED), id="another user"),
        pytest.param(changed("attributes", "user", "minicluster", "payer", value=f"{STATED}="), id="padded"),
        pytest.param(changed("attributes", "user", "minicluster", "payer", value=7), id="a number"),
        pytest.param(changed("attributes", "user", "minicluster", value="x"), id="no object"),
        pytest.param(changed("attributes", "user", "minicluster", "payer", value="mcp1.a.é.b"), id="odd"),
        pytest.param(Seal(b"x" * 32).marked(SPEC, REQUEST, "ada"), id="of another service"),
    ],
)
def test_what_is_not_stated_so_proves_nothing(spec: dict[str, Any]) -> None:
    assert KEYS.verified(spec) is None


def test_without_keys_nothing_is_proven() -> None:
    assert PayerKeys().verified(MARKED) is None


def test_a_job_that_is_not_burstable_has_no_payer() -> None:
    spec = jobspec(JobRequest(("true",), environment={}, cwd="/"))
    assert "payer" not in SEAL.marked(spec, REQUEST, "ada")["attributes"]["user"]["minicluster"]


@pytest.mark.parametrize("key", ["ab", "zz" * 32])
def test_a_key_that_is_none_is_refused(key: str) -> None:
    with pytest.raises(ValueError, match=r"32 bytes|fromhex"):
        PayerKeys([key])
