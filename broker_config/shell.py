"""Words and lines of POSIX shell: quotes words, and checks whether a line is one plain command."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from broker_config.errors import SettingsError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

MAX_NESTING = 100
"""Levels of nested quotes, `$( )` and `${ }`: no line needs as many, and Python's stack has room for more."""

_BARE = re.compile(r"[A-Za-z0-9_@%+=:,./-]+", re.ASCII)
_RAW_BYTES = re.compile("([\udc80-\udcff]+)")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*", re.ASCII)
_EXPANSION = re.compile(r"\$\{(?!\w+\})", re.ASCII)
MAX_CHECKED = 10_000
"""Characters: looking at each takes a microsecond, and planning has a limit."""
_MAYBE_OTHER_QUOTES = re.compile(r"<<|`|\$[({']")
_OPERATORS = frozenset("\n;&|<>()")
_RESERVED = frozenset(["!", "{", "}", "[[", "case", "do", "done", "elif", "else", "esac", "fi", "for"])
_RESERVED |= frozenset(["function", "if", "in", "then", "until", "while"])
_BUILTINS = frozenset([".", ":", "break", "cd", "continue", "eval", "exec", "exit", "export", "readonly"])
_BUILTINS |= frozenset(["return", "set", "shift", "source", "trap", "umask", "unset"])


def quote(text: str) -> str:
    """Return one shell word that expands to `text`, which may have bytes that are not UTF-8 (os.fsdecode).

    Raises SettingsError if no argument can contain the text.
    """
    if "\0" in text:
        raise SettingsError(f"{text!r} holds a NUL character, which no command line can carry")
    if _BARE.fullmatch(text):
        return text
    return "".join(map(_quoted, filter(None, _RAW_BYTES.split(text)))) or "''"


def join(words: Iterable[str]) -> str:
    """Return a shell line that expands to exactly `words`."""
    return " ".join(map(quote, words))


def has_raw_bytes(words: Iterable[str]) -> bool:
    """Return whether a word is not UTF-8: JSON cannot contain it, a shell line can."""
    return any(_RAW_BYTES.search(word) for word in words)


def check_name(name: str) -> str:
    """Return `name` if it can be exported. Raises SettingsError if a shell cannot have such a variable."""
    if not _NAME.fullmatch(name):
        raise SettingsError(
            f"environment: {name!r} is no variable name (letters, digits, '_', no digit first)"
        )
    return name


def is_simple(line: str) -> bool:
    """Return whether `line` is one simple command: words only, so that it can follow `flux submit`.

    It is False for everything that needs a shell: operators, redirections, several lines, reserved words,
    assignments and builtins in front. It is also False for unfinished quotes: the shell will report them.
    Raises SettingsError for more than MAX_NESTING levels of quotes and substitutions.
    """
    words = _words(line.strip())
    if not words:
        return False
    first = words[0]
    name, equals, _ = first.partition("=")
    assigns = bool(equals and _NAME.fullmatch(name))
    return first not in _RESERVED and first not in _BUILTINS and not assigns


def check_nesting(text: str) -> None:
    """Raise SettingsError if `is_simple` would: for `text` as one command, and for each line of it."""
    _words(text.strip())
    lines = text.splitlines()
    for line in lines if len(lines) > 1 else ():
        _words(line.strip())


def open_quote(text: str) -> str:
    """Return the quote that the first line of `text` opens and nothing closes; empty: there is none.

    A shell that is given this text runs nothing of it. Later lines are not looked at: what comes before them
    runs. Nor is what has substitutions or here-documents, in which quotes may mean something else, nor a text
    of more than MAX_CHECKED characters.
    """
    if len(text) > MAX_CHECKED or _MAYBE_OTHER_QUOTES.search(text):
        return ""
    text, offset, before = text.lstrip(), 0, " "
    while offset < len(text):
        if text.startswith("\\\n", offset):  # the line goes on
            offset += 2
            continue
        character = text[offset]
        if character == "\n" or (character == "#" and before in " \t;&|()"):
            return ""
        following = _SKIP.get(character, _skip_one)(text, offset, 0)
        if following < 0:
            return character if character in "'\"" else ""
        offset, before = following, character
    return ""


def substitutes(line: str) -> bool:
    """Return whether `line` has a command substitution, or an expansion that is more than a name in braces.

    If one of those is broken, so is the script around it.
    """
    return _runs_commands(line) or bool(_EXPANSION.search(line))


def is_words(text: str) -> bool:
    """Return whether `text` is shell words and nothing else, so that it can be part of a command."""
    return bool(_words(text.strip())) and not _runs_commands(text)


def _runs_commands(line: str) -> bool:
    return "`" in line or "$(" in line


def _quoted(part: str) -> str:
    if _RAW_BYTES.fullmatch(part):
        octal = "".join(f"\\{ord(character) - 0xDC00:03o}" for character in part)
        return f"\"$(printf '{octal}')\""
    try:
        part.encode()
    except UnicodeEncodeError as error:
        raise SettingsError(f"{part!r} holds half a surrogate pair, which is no text") from error
    return "'" + part.replace("'", "'\\''") + "'"


def _words(line: str) -> list[str]:
    """Return the raw words of a simple command; none if the line is not exactly that."""
    words, start, offset = list[str](), 0, 0
    while offset < len(line):
        character = line[offset]
        if character in _OPERATORS or (character == "#" and offset == start):
            return []
        if character in " \t":
            words.append(line[start:offset])
            start = offset = offset + 1
            continue
        offset = _SKIP.get(character, _skip_one)(line, offset, 0)
        if offset < 0:
            return []
    words.append(line[start:])
    return [word for word in words if word]


def _skip_one(_line: str, offset: int, _depth: int) -> int:
    return offset + 1


def _skip_escape(line: str, offset: int, _depth: int) -> int:
    return offset + 2 if offset + 1 < len(line) else -1


def _skip_single(line: str, offset: int, _depth: int) -> int:
    return line.find("'", offset + 1) + 1 or -1


def _skip_double(line: str, offset: int, depth: int) -> int:
    return _skip_until(line, offset + 1, '"', depth + 1)


def _skip_backquote(line: str, offset: int, depth: int) -> int:
    offset += 1
    while 0 <= offset < len(line):
        if line[offset] == "`":
            return offset + 1
        offset = _skip_escape(line, offset, depth) if line[offset] == "\\" else offset + 1
    return -1


def _skip_dollar(line: str, offset: int, depth: int) -> int:
    following = line[offset + 1 : offset + 2]
    if following in ("(", "{") and following:
        return _skip_until(line, offset + 2, ")" if following == "(" else "}", depth + 1)
    return offset + 1


def _skip_until(line: str, offset: int, end: str, depth: int) -> int:
    """Return the offset behind the unquoted `end`; nested quotes, `$( )` and `( )` are skipped as a whole."""
    if depth > MAX_NESTING:
        raise SettingsError(f"more than {MAX_NESTING} quotes and substitutions inside each other")
    skips = {key: skip for key, skip in _SKIP.items() if end != '"' or key != "'"}
    while 0 <= offset < len(line):
        character = line[offset]
        if character == end:
            return offset + 1
        if character == "(" and end == ")":
            offset = _skip_until(line, offset + 1, ")", depth + 1)
        else:
            offset = skips.get(character, _skip_one)(line, offset, depth)
    return -1


_SKIP: dict[str, Callable[[str, int, int], int]] = {
    "\\": _skip_escape,
    "'": _skip_single,
    '"': _skip_double,
    "`": _skip_backquote,
    "$": _skip_dollar,
}
