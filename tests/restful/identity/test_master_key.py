"""The master key: made once, readable by its owner alone, and what it seals."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from restful.identity.master_key import MasterKey, MasterKeyError, load_master_key

KEY = MasterKey(b"\x07" * 32)
SEALED = KEY.seal(b"x", "a")


def test_it_is_made_at_the_first_start_and_kept(tmp_path: Path) -> None:
    path = tmp_path / "master.key"
    first = load_master_key(path)
    assert load_master_key(path) == first
    assert (path.stat().st_mode & 0o777, len(path.read_bytes())) == (0o400, 32)
    assert list(tmp_path.iterdir()) == [path]


def test_two_places_have_two_keys(tmp_path: Path) -> None:
    assert load_master_key(tmp_path / "a") != load_master_key(tmp_path / "b")


@pytest.mark.parametrize(
    ("content", "mode", "message"),
    [
        pytest.param(b"x" * 32, 0o440, "mode 0440 lets others read it; make it 0400", id="a group reads it"),
        pytest.param(b"x" * 32, 0o604, "mode 0604 lets others read it; make it 0400", id="all read it"),
        pytest.param(b"x" * 31, 0o400, "a master key has 32 bytes; this file does not", id="cut"),
        pytest.param(b"x" * 33, 0o400, "a master key has 32 bytes; this file does not", id="too long"),
    ],
)
def test_a_file_that_is_no_key(tmp_path: Path, content: bytes, mode: int, message: str) -> None:
    path = tmp_path / "master.key"
    path.write_bytes(content)
    path.chmod(mode)
    with pytest.raises(MasterKeyError) as caught:
        load_master_key(path)
    assert str(caught.value) == f"{path}: {message}"


def test_a_link_is_no_key(tmp_path: Path) -> None:
    (tmp_path / "real").write_bytes(b"x" * 32)
    (tmp_path / "link").symlink_to(tmp_path / "real")
    with pytest.raises(MasterKeyError, match="it must be a file that this user reads"):
        load_master_key(tmp_path / "link")


@given(st.binary(max_size=100), st.text(max_size=20))
def test_what_is_sealed_opens_under_its_name(secret: bytes, name: str) -> None:
    assert KEY.open(KEY.seal(secret, name), name) == secret


@given(st.binary(min_size=8, max_size=100))
def test_a_seal_shows_nothing_and_differs_each_time(secret: bytes) -> None:
    one, other = KEY.seal(secret, "a"), KEY.seal(secret, "a")
    assert one != other
    assert secret not in one


@pytest.mark.parametrize(
    ("key", "sealed", "name"),
    [
        pytest.param(MasterKey(b"\x08" * 32), KEY.seal(b"x", "a"), "a", id="another key"),
        pytest.param(KEY, KEY.seal(b"x", "b"), "a", id="another name"),
        pytest.param(KEY, SEALED[:-1] + bytes([SEALED[-1] ^ 1]), "a", id="changed"),
        pytest.param(KEY, b"", "a", id="nothing"),
    ],
)
def test_what_does_not_open(key: MasterKey, sealed: bytes, name: str) -> None:
    with pytest.raises(
        MasterKeyError, match="a in the database is sealed with another master key: give back"
    ):
        key.open(sealed, name)


def test_each_purpose_has_a_key_of_its_own() -> None:
    assert len({KEY.secret, KEY.derived("seal"), KEY.derived("refresh successor")}) == 3


def test_it_does_not_show_itself() -> None:
    assert repr(KEY) == "MasterKey()"
