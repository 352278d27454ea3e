"""The decision records: each is complete, in the index, and there where something names it."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "decisions"
RECORDS = sorted(FOLDER.glob("[0-9]*.md"))
INDEX = (FOLDER / "README.md").read_text()
SECTIONS = ["Context", "Decision", "Consequences", "Figures"]
READ = {".py", ".md", ".yaml", ".yml", ".toml", ".j2", ".lua", ".tpl"}
WRITTEN = ("minicluster", "metrics_api", "broker_config", "queue_policies", "restful", "burst")
WRITTEN += ("tests", "benchmarks", "containers", "deploy", "docs", "examples")
# "decision 0005", "decisions/0005-lead-api.md", and in the records themselves "(0005)".
NAMED = re.compile(r"\bdecisions?[ /](\d{4})\b")


def _files() -> Iterator[Path]:
    """All files of the project that people write."""
    yield from (path for path in ROOT.iterdir() if path.suffix in READ and path.is_file())
    for folder in WRITTEN:
        yield from (path for path in (ROOT / folder).rglob("*") if path.suffix in READ and path.is_file())


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.stem)
def test_a_record_is_complete(path: Path) -> None:
    text = path.read_text()
    number = path.name[:4]
    assert text.startswith(f"# {number} ")
    assert re.search(r"^\*\*Status:\*\* (Accepted|Replaced by \d{4})", text, re.MULTILINE)
    assert re.findall(r"^## (.+)$", text, re.MULTILINE) == SECTIONS
    assert all(re.search(rf"^## {section}\n\S", text, re.MULTILINE) for section in SECTIONS)


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.stem)
def test_a_record_is_short(path: Path) -> None:
    assert 15 <= len(path.read_text().splitlines()) <= 30


def test_the_index_lists_every_record_once_in_order() -> None:
    listed = re.findall(r"^\| \[(\d{4})\]\((\S+\.md)\) \| (.+?) \|", INDEX, re.MULTILINE)
    titles = [path.read_text().splitlines()[0].removeprefix(f"# {path.name[:4]} ") for path in RECORDS]
    assert listed == [(path.name[:4], path.name, title) for path, title in zip(RECORDS, titles, strict=True)]


def test_every_record_that_is_named_exists() -> None:
    numbers = {path.name[:4] for path in RECORDS}
    named = {
        (str(path.relative_to(ROOT)), number)
        for path in _files()
        for number in NAMED.findall(path.read_text(encoding="utf-8"))
    }
    assert {each for each in named if each[1] not in numbers} == set()


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.stem)
def test_a_record_names_others_that_exist(path: Path) -> None:
    numbers = {each.name[:4] for each in RECORDS}
    assert set(re.findall(r"\((\d{4})\)", path.read_text())) <= numbers
