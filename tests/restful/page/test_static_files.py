"""What browsers are served as it is, and where what is not ours came from."""

from __future__ import annotations

import hashlib
import re

from restful.page.static_files import FILES, FOLDER

OURS = {"icon.svg", "lines.js", "output.js", "page.css", "page.js"}
README = (FOLDER / "README.md").read_text(encoding="utf-8")
ROWS = re.findall(
    r"^\| `([^`]+)` \| \S+ \S+ \| `[^`]+` \| (\S+) \| `([0-9a-f]{64})` \|$", README, re.MULTILINE
)


def test_files_of_others_are_those_that_are_described() -> None:
    """A release of theirs is a new row, with a new digest."""
    others = {name: file.content for name, file in FILES.items() if name not in OURS}
    digests = {name: hashlib.sha256(content).hexdigest() for name, content in others.items()}
    assert digests == {name: digest for name, _, digest in ROWS}


def test_files_of_others_may_be_given_on() -> None:
    """0BSD asks for nothing, not even for its own text."""
    assert {terms for _, terms, _ in ROWS} == {"0BSD"}


def test_scripts_of_ours_are_short() -> None:
    scripts = [FILES[name].content for name in OURS if name.endswith(".js")]
    assert max(each.count(b"\n") for each in scripts) <= 150
