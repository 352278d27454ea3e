"""CURVE certificates: made, read back, checked as Flux checks them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from broker_config import curve
from broker_config.errors import CurveError

KEYS = curve.generate()
OTHER = curve.generate()


def text(metadata='    name = "mc"', public=KEYS.public, secret=KEYS.secret, more=""):
    return f'metadata\n{metadata}\ncurve\n    public-key = "{public}"\n    secret-key = "{secret}"\n{more}'


def test_round_trip():
    """What is rendered is read back."""
    assert curve.decode(curve.render("my-cluster.0", KEYS)) == KEYS


def test_pairs_differ():
    """Each is fresh."""
    assert curve.generate() != curve.generate()


def test_the_secret_is_never_shown():
    """Neither by repr nor by str."""
    assert KEYS.secret not in f"{KEYS!r} {KEYS}"


@pytest.mark.parametrize(
    "accepted",
    [
        pytest.param("# made by hand\n\n" + text(), id="comment"),
        pytest.param(text('    name="mc"\n\ttime = "2026-01-01T00:00:00"\n    x.y-1 = ""'), id="metadata"),
        pytest.param(text('    # no\n    name = "a b"   '), id="spaces"),
        pytest.param(text().replace("metadata\n", "curve\nmetadata\n"), id="section-twice"),
    ],
)
def test_forms_that_flux_accepts(accepted):
    """Comments, empty lines, tabs, further metadata."""
    assert curve.decode(accepted) == KEYS


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        ("", "has no section 'curve'"),
        (
            text("").replace("curve", "metadata2"),
            "line 3 of the CURVE certificate must be `metadata`, `curve`, or indented",
        ),
        (text('    nam = "x"'), "has no name: Flux wants `name"),
        (text(public=OTHER.public), "public-key does not belong to its secret-key"),
        (text(public="short"), "public-key is not 40 characters of Z85"),
        (text(secret="a" * 39 + "!~"), "line 5 of the CURVE certificate has '~' in the value of secret-key"),
        (
            text().replace("secret-key", "secret_key"),
            "line 5 of the CURVE certificate has the key 'secret_key'",
        ),
        (text().replace("secret-key", "other"), "holds public-key and secret-key only"),
        ('metadata\n name = "x"\ncurve\n', "has no public-key in the section 'curve'"),
        (text('    name = "my_cluster"'), "line 2 of the CURVE certificate has '_' in the value of name"),
        (text('    name = "a,b"'), "has ',' in the value of name, which Flux does not accept"),
        (text('    na_me = "a"'), "has the key 'na_me': it may hold letters, digits, '-' and '.' only"),
        (
            text("    name = mc"),
            'line 2 of the CURVE certificate must read key = "value", the value in double quotes',
        ),
        (text('    name = "a"\n    name = "b"'), "line 3 of the CURVE certificate repeats the key name"),
        ('    name = "mc"\n' + text(), "line 1 of the CURVE certificate comes before any section"),
        (text('    name = "' + "a" * 250 + '"'), "line 2 of the CURVE certificate is longer than 254 bytes"),
        (text('name = "mc"'), "line 2 of the CURVE certificate must be `metadata`, `curve`, or indented"),
    ],
)
def test_wrong(broken, message):
    """Line and rule are named, keys are not."""
    with pytest.raises(CurveError) as caught:
        curve.decode(broken)
    assert message in str(caught.value)
    assert KEYS.secret not in str(caught.value)


def test_name_that_flux_would_reject():
    """It is refused before a file is made."""
    with pytest.raises(CurveError, match="has '_' in the value of name"):
        curve.render("my_cluster", KEYS)


@given(st.text(max_size=60))
def test_any_text_is_read_or_refused(anything):
    """No other error than CurveError."""
    with pytest.raises(CurveError):
        curve.decode(anything)
