"""The directory of a service's database and keys is its user's alone."""

from pathlib import Path

import pytest

from minicluster.database.errors import StateDirectoryUnusable
from restful.cli import state
from restful.cli.errors import ServeError


def test_a_directory_is_made_for_its_user_alone(tmp_path: Path) -> None:
    made = state.opened(tmp_path / "a" / "b")
    assert made.path.stat().st_mode & 0o777 == 0o700


def test_one_that_others_may_enter_is_refused(tmp_path: Path) -> None:
    tmp_path.chmod(0o750)
    with pytest.raises(StateDirectoryUnusable) as caught:
        state.opened(tmp_path)
    assert str(caught.value) == (
        f"state directory {tmp_path}: mode 0750 lets others read digests of passwords: chmod 700"
    )


def test_one_that_cannot_be_made_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(StateDirectoryUnusable, match=r"Not a directory; name another one with --state$"):
        state.opened(tmp_path / "file" / "state")


def test_two_services_do_not_work_with_one_directory(tmp_path: Path) -> None:
    made = state.opened(tmp_path / "s")
    with state.locked(made), pytest.raises(ServeError, match="another `minicluster serve` works with it"):
        state.locked(made)
    state.locked(made).close()


@pytest.mark.parametrize(
    ("chosen", "expected"), [("/x", "/x/minicluster"), ("x", "/h/.local/state/minicluster")]
)
def test_the_usual_directory(chosen: str, expected: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", chosen)
    monkeypatch.setenv("HOME", "/h")
    assert state.default() == Path(expected)
