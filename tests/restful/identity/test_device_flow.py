"""Codes of devices: what a poll gets, and what users type."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from restful.identity import device_flow
from restful.identity.device_flow import DeviceState, PollAnswer, PollState

NOW = 1000.0


@pytest.mark.parametrize(
    ("state", "polled_at", "now", "expected"),
    [
        pytest.param(DeviceState.PENDING, None, NOW, PollAnswer("authorization_pending", 5), id="the first"),
        pytest.param(DeviceState.PENDING, NOW, NOW + 5, PollAnswer("authorization_pending", 5), id="in time"),
        pytest.param(DeviceState.PENDING, NOW, NOW + 4.9, PollAnswer("slow_down", 10), id="too early"),
        pytest.param(DeviceState.APPROVED, NOW, NOW + 5, PollAnswer("", 5), id="approved"),
        pytest.param(
            DeviceState.APPROVED, NOW, NOW + 1, PollAnswer("slow_down", 10), id="approved, too early"
        ),
        pytest.param(DeviceState.DENIED, None, NOW, PollAnswer("access_denied", 5), id="denied"),
        pytest.param(DeviceState.APPROVED, None, 1600.0, PollAnswer("expired_token", 5), id="expired"),
        pytest.param(DeviceState.USED, None, NOW, PollAnswer("invalid_grant", 5), id="used"),
    ],
)
def test_what_a_poll_gets(
    state: DeviceState, polled_at: float | None, now: float, expected: PollAnswer
) -> None:
    assert device_flow.poll(PollState(state, 1600.0, polled_at=polled_at), now) == expected


@given(st.binary(min_size=16, max_size=16))
def test_a_user_code_is_typed_in_many_ways(secret: bytes) -> None:
    code = device_flow.user_code(secret)
    typed = f" {code.lower().replace('-', ' ')}\n"
    assert device_flow.written_code(typed) == code
    assert len(code) == 9


@given(st.text())
def test_whatever_is_typed_is_a_code_or_none(text: str) -> None:
    written = device_flow.written_code(text)
    assert set(written) <= set(device_flow.USER_CODE_LETTERS) | {"-"}
