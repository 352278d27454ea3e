"""What is wrong with a page's HTML: nesting, labels, captions, references, and forms without a CSRF token."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser

VOID = frozenset({"meta", "link", "input", "br", "hr", "img"})
"""Elements without an end."""
PARENTS = {
    "tr": {"thead", "tbody"},
    "td": {"tr"},
    "th": {"tr"},
    "thead": {"table"},
    "tbody": {"table"},
    "caption": {"table"},
    "li": {"ul", "ol"},
    "dt": {"dl", "div"},
    "dd": {"dl", "div"},
    "summary": {"details"},
    "legend": {"fieldset"},
    "option": {"select", "datalist", "optgroup"},
}
"""Elements that are good within these alone."""
NOT_IN_P = frozenset(
    {"div", "form", "table", "ul", "dl", "section", "p", "h1", "h2", "fieldset", "details", "nav", "pre"}
)
INTERACTIVE = frozenset({"a", "button", "select", "summary"})
WITHOUT_SESSION = frozenset({"/login", "/login/link"})
"""Forms of those who are not logged in yet: where they were sent from is what is looked at."""


@dataclass(slots=True)
class Element:
    """An element that is open."""

    tag: str
    attributes: dict[str, str]
    text: str = ""
    headed: bool = False
    """Whether it has a caption or a heading."""


@dataclass(slots=True)
class _Ids:
    there: list[str] = field(default_factory=list)
    referred: list[str] = field(default_factory=list)
    labelled: set[str] = field(default_factory=set)
    inputs: list[tuple[str, str]] = field(default_factory=list)
    """The ids of inputs that no label is around, and their names."""


class Markup(HTMLParser):
    """Reads a page; `wrong` is what it found."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.wrong: list[str] = []
        self._open: list[Element] = []
        self._ids = _Ids()
        self._csrf = False
        self.feed(text)
        self.close()
        self._end()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        if len(found) != len(attrs):
            self.wrong.append(f"<{tag}> has an attribute twice")
        self._nesting(tag)
        self._attributes(tag, found)
        if tag in {"caption", "h1", "h2"} and self._open:
            for each in self._open:
                each.headed |= each.tag in {"section", "table", "main"}
        if tag == "form":
            self._csrf = False
        if tag not in VOID:
            self._open.append(Element(tag, found))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._nesting(tag)
        self._attributes(tag, {name: value or "" for name, value in attrs})

    def handle_endtag(self, tag: str) -> None:
        if not self._open or self._open[-1].tag != tag:
            self.wrong.append(f"</{tag}> does not end what is open: {[each.tag for each in self._open]}")
            return
        closed = self._open.pop()
        if tag == "form":
            self._form(closed.attributes)
        if tag == "table" and not (closed.headed or self._in_headed_section()):
            self.wrong.append("a table has no caption and no heading")
        if tag in {"button", "a"} and not (closed.text.strip() or closed.attributes.get("aria-label")):
            self.wrong.append(f"<{tag}> has no text")
        if self._open:
            self._open[-1].text += closed.text

    def handle_data(self, data: str) -> None:
        if self._open:
            self._open[-1].text += data

    def _form(self, found: dict[str, str]) -> None:
        needs_token = found.get("method", "get") == "post" and found["action"] not in WITHOUT_SESSION
        if needs_token and not self._csrf:
            self.wrong.append(f"the form {found['action']} has no CSRF token")

    def _in_headed_section(self) -> bool:
        return any(each.tag == "section" and each.headed for each in self._open)

    def _nesting(self, tag: str) -> None:
        parents = [each.tag for each in self._open]
        parent = parents[-1] if parents else ""
        if tag in PARENTS and parent not in PARENTS[tag]:
            self.wrong.append(f"<{tag}> is within <{parent}>")
        if "p" in parents and tag in NOT_IN_P:
            self.wrong.append(f"<{tag}> is within <p>")
        if tag == "form" and "form" in parents:
            self.wrong.append("a form is within a form")
        if tag in INTERACTIVE and INTERACTIVE & set(parents):
            self.wrong.append(f"<{tag}> is within {sorted(INTERACTIVE & set(parents))}")

    def _attributes(self, tag: str, found: dict[str, str]) -> None:
        ids = self._ids
        if "id" in found:
            ids.there.append(found["id"])
        for name in ("aria-labelledby", "aria-describedby", "for"):
            ids.referred += found.get(name, "").split()
        if tag == "label" and "for" in found:
            ids.labelled.add(found["for"])
        if tag == "th" and found.get("scope") not in {"col", "row"}:
            self.wrong.append("a <th> has no scope")
        if "style" in found or any(name.startswith("on") for name in found):
            self.wrong.append(f"<{tag}> has a style or a script")
        if tag in {"input", "select", "textarea"}:
            self._input(found)

    def _input(self, found: dict[str, str]) -> None:
        if found.get("type") == "hidden":
            self._csrf |= found["name"] == "csrf" and bool(found["value"])
            return
        labelled = "aria-label" in found or any(each.tag == "label" for each in self._open)
        if "hidden" not in found and not labelled:
            self._ids.inputs.append((found.get("id", ""), found.get("name", "")))

    def _end(self) -> None:
        ids = self._ids
        if self._open:
            self.wrong.append(f"open at the end: {[each.tag for each in self._open]}")
        self.wrong += [
            f"the id {each} is there twice" for each in set(ids.there) if ids.there.count(each) > 1
        ]
        self.wrong += [f"nothing has the id {each}" for each in ids.referred if each not in ids.there]
        self.wrong += [
            f"the field {name!r} has no label" for own, name in ids.inputs if own not in ids.labelled
        ]


def wrong_with(text: str) -> list[str]:
    """Return what is wrong with a page."""
    return Markup(text).wrong
