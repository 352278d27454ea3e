"""Keys of access tokens: what was signed is verified, and who caches the list has the next key."""

from hypothesis import given
from hypothesis import strategies as st

from restful.identity import key_rotation
from restful.identity.key_rotation import KeyTimes, RotationRule

RULE = RotationRule(period=30 * 86_400, lifetime=600)
START = 1e9
GAPS = st.lists(st.floats(0, 40 * 86_400), min_size=1, max_size=40)


def rotated(keys: list[KeyTimes], now: float) -> list[KeyTimes]:
    """Return the keys after a service has looked at them."""
    start = key_rotation.next_start(keys, RULE, now)
    if start is None:
        return keys
    retire_at = key_rotation.retirement(start, RULE)
    retired = [KeyTimes(each.kid, each.not_before, each.retire_at or retire_at) for each in keys]
    return [*retired, KeyTimes(f"key {len(keys)}", start)]


def test_the_first_key_signs_at_once() -> None:
    keys = rotated([], START)
    assert key_rotation.signing(keys, START) == keys[0] == KeyTimes("key 0", START)


def test_without_keys_nothing_signs() -> None:
    assert key_rotation.signing([], START) is None


def test_a_key_signs_for_its_period() -> None:
    keys = rotated([], START)
    due = START + RULE.period - RULE.lead
    assert rotated(keys, due - 1) == keys
    assert rotated(keys, due)[1].not_before == START + RULE.period


@given(GAPS)
def test_what_was_signed_is_verified_until_it_expires(gaps: list[float]) -> None:
    keys, now = list[KeyTimes](), START
    for gap in gaps:
        keys = rotated(keys, now)
        signer = key_rotation.signing(keys, now)
        end = now + RULE.lifetime
        now += gap
        keys = rotated(keys, now)
        if now < end:
            assert signer is not None
            assert signer.kid in {each.kid for each in key_rotation.published(keys, now)}


@given(GAPS)
def test_a_key_was_published_for_a_lifetime_before_it_signs(gaps: list[float]) -> None:
    keys, now, first_seen = list[KeyTimes](), START, dict[str, float]()
    for gap in gaps:
        keys = rotated(keys, now)
        for each in keys:
            first_seen.setdefault(each.kid, now)
        now += gap
        signer = key_rotation.signing(keys, now)
        assert signer is not None
        assert signer.kid == "key 0" or now - first_seen[signer.kid] >= RULE.lifetime


@given(GAPS)
def test_of_keys_few_are_published(gaps: list[float]) -> None:
    keys, now = list[KeyTimes](), START
    for gap in gaps:
        keys, now = rotated(keys, now), now + gap
        assert 1 <= len(key_rotation.published(keys, now)) <= 2


def test_of_two_keys_that_replicas_made_at_once_all_take_the_same() -> None:
    keys = [KeyTimes("b", START), KeyTimes("a", START)]
    assert key_rotation.signing(keys, START) == key_rotation.signing(keys[::-1], START) == keys[1]
