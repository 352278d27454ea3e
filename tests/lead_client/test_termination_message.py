"""What a broker's pod leaves as its last words is believed as far as it makes sense."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from minicluster.lead_client import termination_message
from minicluster.plan import Dump

AT = "2026-03-14T15:09:26Z"
TIME = datetime(2026, 3, 14, 15, 9, 26, tzinfo=UTC)
MESSAGE: dict[str, Any] = {"saved": "/archive/mc.tgz", "bytes": 12345, "jobs": 12}


def ended(text: str, at: str | None = AT) -> dict[str, Any]:
    return {"exitCode": 75, "message": text, "finishedAt": at}


def dump(**fields: Any) -> Dump | None:
    return termination_message.dump(ended(json.dumps({**MESSAGE, **fields})))


def test_what_was_saved() -> None:
    assert dump() == Dump(TIME, "/archive/mc.tgz", 12345, 12)


def test_which_jobs_could_not_finish() -> None:
    """Their ids are shown as Flux shows them."""
    found = dump(restarted=[["f2a", "f3b"]], lost=[["f4c", "found no copy"]], restarted_total=7, lost_total=1)
    assert found == Dump(
        TIME, "/archive/mc.tgz", 12345, 12, (("ƒ2a", "ƒ3b"),), (("ƒ4c", "found no copy"),), 7, 1
    )


@pytest.mark.parametrize(
    "text", ["", "0", "143", "[]", "{", '{"saved": 1}', '{"saved": null}', '{"bytes": 1}', "{" * 3000]
)
def test_other_words_are_no_dump(text: str) -> None:
    assert termination_message.dump(ended(text)) is None


def test_without_a_time_there_is_none() -> None:
    """A kubelet that lost a container does not know when it ended."""
    assert termination_message.dump(ended(json.dumps(MESSAGE), None)) is None


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        pytest.param({"bytes": -1, "jobs": True}, Dump(TIME, "/archive/mc.tgz"), id="counts that are none"),
        pytest.param(
            {"bytes": 10**30, "jobs": 10**30},
            Dump(TIME, "/archive/mc.tgz", 2**53, 2**31 - 1),
            id="more than a status can hold",
        ),
        pytest.param(
            {
                "restarted": [["f1"], "f2", ["f3", 4], ["f5", "f6"]],
                "lost": {"f7": "f8"},
                "restarted_total": "9",
            },
            Dump(TIME, "/archive/mc.tgz", 12345, 12, (("ƒ5", "ƒ6"),), (), 1, 0),
            id="pairs that are none",
        ),
        pytest.param(
            {"saved": "/a\nb" + "c" * 300}, Dump(TIME, "/a b" + "c" * 196, 12345, 12), id="a long path"
        ),
    ],
)
def test_what_makes_no_sense_is_left_out(fields: dict[str, Any], expected: Dump) -> None:
    assert dump(**fields) == expected


def test_why_a_broker_could_not_start() -> None:
    assert (
        termination_message.refusal(ended('{"error": "/archive/mc.tgz\\nis cut short"}'))
        == "/archive/mc.tgz is cut short"
    )


@pytest.mark.parametrize("text", ["1", "{}", '{"error": 1}', '{"saved": "/a"}'])
def test_other_words_are_no_refusal(text: str) -> None:
    assert termination_message.refusal(ended(text)) == ""


@given(st.text(max_size=4096) | st.builds(json.dumps, st.dictionaries(st.text(), st.integers() | st.text())))
def test_whatever_the_message_is_nothing_breaks(text: str) -> None:
    assert termination_message.dump(ended(text)) is None or '"saved"' in text
    assert isinstance(termination_message.refusal(ended(text)), str)
