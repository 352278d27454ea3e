"""What the metrics adapter is given of the operator's keys, and how."""

import asyncio
from base64 import b64encode
from typing import Any

import pytest

from minicluster.kube_client.errors import ApiError, ApiUnreachableError
from minicluster.lead_client import purpose_key_store
from minicluster.lead_client.errors import LeadKeysError
from minicluster.lead_client.keys import LeadAuthority
from minicluster.lead_client.purpose_keys import METRICS, PurposeKeys

AUTHORITY = LeadAuthority.make()


def test_what_is_stored_is_what_is_read() -> None:
    keys = AUTHORITY.purpose(METRICS)
    item = keys.secret("system")
    assert PurposeKeys.of_secret(METRICS, item) == keys
    assert (item["metadata"]["name"], item["metadata"]["namespace"]) == ("minicluster-metrics", "system")


def test_a_token_is_a_miniclusters_own_and_not_the_one_for_orders() -> None:
    keys = AUTHORITY.purpose(METRICS)
    assert keys.token("a") == AUTHORITY.purpose(METRICS).token("a")
    assert len({keys.token("a"), keys.token("b"), AUTHORITY.token("a"), AUTHORITY.token("b")}) == 4


def test_nothing_of_the_operators_own_keys_is_given() -> None:
    files = AUTHORITY.files()
    given = str(AUTHORITY.purpose(METRICS).secret("system"))
    for name in ("ca.key", "token.key"):
        assert b64encode(files[name].encode()).decode() not in given
        assert files[name] not in given


def test_the_key_does_not_show() -> None:
    keys = AUTHORITY.purpose(METRICS)
    assert keys.key.hex() not in repr(keys)
    assert repr(keys.key) not in repr(keys)


@pytest.mark.parametrize(
    ("changes", "fields"),
    [
        ({"ca.crt": None}, "ca.crt is missing"),
        ({"metrics.key": None}, "metrics.key is missing"),
        ({"ca.crt": "nonsense"}, "they are damaged"),
        ({"metrics.key": "nonsense"}, "they are damaged"),
        ({"metrics.key": "00" * 31}, "they are damaged"),
    ],
)
def test_what_is_wrong_with_the_secret_is_reported(changes: dict[str, str | None], fields: str) -> None:
    item = AUTHORITY.purpose(METRICS).secret("system")
    for name, text in changes.items():
        del item["data"][name]
        if text is not None:
            item["data"][name] = b64encode(text.encode()).decode()
    with pytest.raises(LeadKeysError, match=fields):
        PurposeKeys.of_secret(METRICS, item)


class Api:
    """An API server that fails as it is told, then takes what is applied."""

    def __init__(self, *errors: Exception) -> None:
        self.errors = list(errors)
        self.applied: list[dict[str, Any]] = []

    async def apply(self, item: dict[str, Any], *, new: bool = False) -> dict[str, Any]:
        if self.errors:
            raise self.errors.pop(0)
        self.applied.append(item)
        return item


def publish(api: Api, namespace: str = "system") -> None:
    asyncio.run(purpose_key_store.publish(api, namespace, AUTHORITY.purpose(METRICS)))


def test_the_operator_leaves_them_in_its_namespace() -> None:
    api = Api()
    publish(api)
    assert api.applied == [AUTHORITY.purpose(METRICS).secret("system")]


def test_outside_of_a_cluster_nowhere() -> None:
    api = Api()
    publish(api, "")
    assert api.applied == []


@pytest.mark.parametrize("error", [ApiUnreachableError("away"), ApiError(429, "TooManyRequests", "later")])
def test_an_api_server_that_is_away_is_waited_for(error: Exception, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(purpose_key_store, "RETRY_DELAY", 0.0)
    api = Api(error)
    publish(api)
    assert len(api.applied) == 1


def test_miniclusters_run_also_where_that_is_refused(caplog: pytest.LogCaptureFixture) -> None:
    publish(Api(ApiError(403, "Forbidden", "no")))
    assert "Secret system/minicluster-metrics cannot be written" in caplog.text
