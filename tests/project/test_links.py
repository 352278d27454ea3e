"""The pages for readers link to files and headings that exist, and name files that exist."""

import re
from pathlib import Path

import pytest

from tests.project.sources import PACKAGES, sources

ROOT = Path(__file__).parents[2]
PAGES = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), ROOT / "containers" / "README.md"]
PAGES += (ROOT / "examples").rglob("README.md")
LINK = re.compile(r"\]\(([^)\s]+)\)")
QUOTED = re.compile(r"```.*?```|`[^`\n]+`", re.DOTALL)
FOLDERS = "|".join(sorted(path.name for path in ROOT.iterdir() if path.is_dir() and path.name[0] != "."))
FILE = re.compile(rf"(?<![\w./@:-])((?:{FOLDERS})/[\w./-]*\w/?)(?![\w*<…])")
NO_FILE = re.compile(r"minicluster/[\w-]+|.*NAME.*")
"""How a document names a policy (`minicluster/easy`), and a file that is still to be written."""


def _prose(path: Path) -> str:
    """A page without what it quotes."""
    return re.sub(r"```.*?```|`[^`\n]*`", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)


def _anchors(path: Path) -> set[str]:
    """The anchors that a page's headings have on GitHub."""
    titles = re.findall(r"^#+ (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_its_links_lead_somewhere(page: Path) -> None:
    broken = []
    for link in LINK.findall(_prose(page)):
        if "://" in link:
            continue
        target, _, anchor = link.partition("#")
        path = (page.parent / target).resolve() if target else page
        if not path.exists() or (anchor and anchor not in _anchors(path)):
            broken.append(link)
    assert broken == []


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_files_that_it_names_are_there(page: Path) -> None:
    """What it quotes and what begins with a folder of the project, as `tests/project/test_links.py` does."""
    quoted = QUOTED.findall(page.read_text(encoding="utf-8"))
    named = {name for text in quoted for name in FILE.findall(text) if not NO_FILE.fullmatch(name)}
    assert sorted(name for name in named if not (ROOT / name).exists()) == []


def test_the_names_that_contributing_quotes_are_there() -> None:
    """Classes and constants, such as `ConditionType` and `CASES`: each is a word of some module."""
    quoted = QUOTED.findall((ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8"))
    names = {
        name
        for name in (each.strip("`") for each in quoted)
        if re.fullmatch(r"([A-Z][a-z]+){2,}|_?[A-Z]{2,}(_[A-Z]+)*", name)
    }
    code = "\n".join(each.text for each in sources(*PACKAGES, "tests", "benchmarks"))
    assert {"PodReport", "CASES"} <= names
    assert sorted(name for name in names if not re.search(rf"\b{name}\b", code)) == []


def test_the_index_has_every_page() -> None:
    pages = {path.name for path in (ROOT / "docs").glob("*.md")} - {"README.md"}
    index = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    assert {link for link in LINK.findall(index) if "/" not in link} >= pages


def test_the_glossary_is_in_alphabetical_order_without_doubles() -> None:
    text = (ROOT / "docs" / "glossary.md").read_text(encoding="utf-8")
    words = re.findall(r"^\| ([^|]+?) \| [FKM\u2013]", text, re.MULTILINE)
    plain = [word.replace("`", "").casefold() for word in words]
    assert len(plain) > 50
    assert plain == sorted(set(plain))
