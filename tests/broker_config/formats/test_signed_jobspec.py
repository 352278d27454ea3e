"""The envelope of RFC 15 around a jobspec."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_config.formats import signed_jobspec
from broker_config.formats.errors import SignedJobspecError


@given(st.dictionaries(st.text(), st.text()))
def test_round_trip(spec: dict[str, str]) -> None:
    assert signed_jobspec.decode(signed_jobspec.encode(json.dumps(spec))) == spec


def test_as_flux_keeps_it() -> None:
    assert signed_jobspec.encode("{}") == "dmVyc2lvbgBpMQBtZWNoYW5pc20Ac25vbmUA.e30=.none"


@pytest.mark.parametrize("text", ["", "a.b", "a.!.c", "a.e30.c", "a.WzE=.c"])
def test_unreadable(text: str) -> None:
    with pytest.raises(SignedJobspecError, match="the signed jobspec cannot be read"):
        signed_jobspec.decode(text)
