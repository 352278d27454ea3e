"""The command line of `flux broker`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from minicluster.embedded.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Sequence

USAGE = "Usage: flux broker [-c PATH] [-S NAME=VALUE]... [PROGRAM [ARGUMENTS...]]"


class Options:
    """The parsed command line: `config` path, `settings` of -S, and the initial program's words."""

    def __init__(self, argv: Sequence[str]) -> None:
        self.config: str | None = None
        self.settings: dict[str, str] = {}
        words = list(argv)
        while words and words[0].startswith("-"):
            word = words.pop(0)
            if word == "--":
                break
            self._option(word, words)
        self.program = words

    def _option(self, word: str, rest: list[str]) -> None:
        for short, long in (("-c", "--config-path"), ("-S", "--setattr")):
            if word in {short, long}:
                if not rest:
                    raise ConfigurationError(f"option {word} needs a value\n{USAGE}")
                return self._set(short, rest.pop(0))
            if word.startswith(f"{long}="):
                return self._set(short, word.removeprefix(f"{long}="))
            if word.startswith(short) and not word.startswith("--"):
                return self._set(short, word[2:])
        if word not in {"-v", "--verbose"}:
            raise ConfigurationError(f"unknown option {word}\n{USAGE}")
        return None

    def _set(self, option: str, value: str) -> None:
        if option == "-c":
            self.config = value
        else:
            name, given, text = value.partition("=")
            self.settings[name] = text if given else "1"
