"""The code uses the words of its field: a banned word in an identifier fails, with the term in its place.

What counts is where a name is made: a class, function, parameter, variable, attribute, module. Names that
other packages made may be used.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from pathlib import PurePath
from typing import TYPE_CHECKING, NamedTuple

import pytest

from tests.project.sources import PACKAGES, sources

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.project.sources import Source

SHOWN = (*PACKAGES, "examples", "deploy")
"""What newcomers read, and copy."""
EVERYTHING = (*SHOWN, "tests", "benchmarks")
FROZEN = ("tests/release_0_1_0/data/", "tests/release_0_1_0/plugins/")
"""What release 0.1.0 was made of, and what its authors wrote."""

INSTEAD = {
    "board": "status snapshot",
    "calm": "clean-up",
    "carry_out": "run, apply",
    "circumstances": "options",
    "complain": "warn",
    "complaint": "pod event, problem",
    "complaints": "pod events, problems",
    "crew": "elastic workers",
    "doom": "exit timer",
    "door": "lead API, lead server",
    "doorman": "authenticator",
    "doors": "leads, lead servers",
    "draft": "action builder; a temporary file",
    "errand": "operation",
    "farewell": "the timeout of an end",
    "fate": "failure model",
    "finding": "condition value",
    "findings": "condition values, problems",
    "foreign": "conflicting",
    "gain": "speedup",
    "hear": "receive",
    "heard": "received, report",
    "hears": "receives",
    "heed": "accept",
    "heeding": "accepting",
    "heeds": "accepts a resize",
    "held": "allocated, reserved, suspended: which of these",
    "holding": "allocation",
    "holdings": "allocations",
    "hurry": "flush, forced",
    "kindly": "gracefully",
    "knocked": "connected",
    "knocking": "connecting",
    "last_words": "stderr tail, log tail, termination message",
    "lasting": "remaining, steady",
    "look": "poll, sample, view",
    "looked": "polled, sampled",
    "looker": "poller",
    "looks": "polls, samples",
    "movable": "resizable",
    "noticing": "debounce",
    "obey": "answer an order",
    "onlooker": "queue client",
    "patience": "timeout, deadline, retry limit",
    "person": "user",
    "pieces": "stream body, parts",
    "place": "node, slot, endpoint, position: which of these",
    "resuming": "post-restore hold",
    "says": "reports, prints, contains",
    "said": "message, body, output: what it is",
    "say": "report, print, send",
    "settle": "converge, quiesce",
    "settling": "idle timeout, quiesce",
    "share": "fraction; the resources on a rank",
    "shares": "fractions; the resources on ranks",
    "silence": "unreachable reason, timeout",
    "situation": "state",
    "sketch": "trial; a digest's stub",
    "sketches": "trials; digests' stubs",
    "soon": "schedule",
    "stillborn": "failed launch",
    "stranger": "conflicting object, unproven peer",
    "strangers": "conflicting objects, unproven peers",
    "surroundings": "environment, context, options",
    "taker": "callback",
    "takers": "callbacks",
    "tell": "report, notify, send",
    "telling": "reporting",
    "tells": "reports, delivers",
    "tidy": "reconcile, clean up",
    "told": "reported, condition, event: what it is",
    "turned_away": "rejected",
    "turns": "batches, rounds",
    "unheard": "unreported",
    "unheld": "unowned",
    "unsaid": "withheld",
    "untold": "unreported",
}
"""What to write in place of a word, or of words in a row, as parts of an identifier."""

INSTEAD_OF_MODULES = {
    "applying": "apply",
    "asking": "requests",
    "attaching": "attach",
    "ending": "teardown",
    "following": "watch",
    "joining": "readiness",
    "leaving": "deletion",
    "watching": "watch, informer",
}

INSTEAD_OF_CLASSES = {
    "Asking": "a client, a request",
    "Decided": "Decision",
    "Described": "a reference, a description",
    "Ended": "what has ended, how",
    "Heard": "Report",
    "Held": "an allocation, an open file",
    "Kept": "what is kept",
    "Passed": "a handler",
    "Proxied": "a request",
    "Said": "Output, Message",
    "Seen": "Snapshot, Sample",
    "Started": "what was started",
    "Told": "Report, Answer, EventSummary",
}

INSTEAD_OF_CONSTANTS = {
    "at_a_time": "MAX_… with what is limited, such as MAX_CONNECTIONS; a concurrency limit",
    "longest": "MAX_… with the unit, such as MAX_LINE_BYTES",
    "most": "MAX_… with what is counted, such as MAX_SAMPLES",
    "pause": "…_INTERVAL between polls, …_DELAY before a retry",
}
"""The same for parts of names in capitals. Variables may have them: Flux and policies have `most`."""

INSTEAD_OF_WHOLE_CONSTANTS = {
    "grace": "GRACE_PERIOD from SIGTERM to SIGKILL, else …_TIMEOUT",
}
"""The same where it is all of a name in capitals: Kubernetes has grace periods."""

PRIVATE = (
    "crew",
    "doom",
    "door",
    "doorman",
    "doors",
    "errand",
    "farewell",
    "hear",
    "heard",
    "hears",
    "heed",
    "heeds",
    "stranger",
    "strangers",
    "such a one",
    "told",
    "whoever",
)
"""Words and turns that no docstring or comment has: the project's own once. Names in `backticks` may."""

PUBLIC = "public in 0.1.0 (tests/release_0_1_0/README.md)"
FLUX = "Flux's own word for a job of urgency 0"
KUBERNETES = "a name of Kubernetes"
PLACING = "what policies do with a job: the verb is the field's"
KEPT = {
    "examples/queens:Board": "a chess board",
    "call_soon": "a name of asyncio",
    "CountingSketch": PUBLIC,
    "minicluster/lead_server:DOOR": PUBLIC,
    "metrics_api/adapter:door_port": "a hidden option of the command",
    "minicluster/flux_modules:DoorError": PUBLIC,
    "Draft": PUBLIC,
    "queue_policies:_draft": PUBLIC,
    "queue_policies:draft": PUBLIC,
    "tests/queue_policies:draft": PUBLIC,
    "tests/release_0_1_0:_draft": PUBLIC,
    "queue_policies:_gain": PUBLIC,
    "queue_policies:gain": PUBLIC,
    "heeds": PUBLIC,
    "metrics_api/numbers:HELD": FLUX,
    "minicluster/save_restore:_HELD": FLUX,
    "queue_policies:_held": PUBLIC,
    "queue_policies:held": PUBLIC,
    "HELD_BACK": "a reason, as the others are named after theirs",
    "JOBS_HELD": FLUX,
    "Movable": PUBLIC,
    "_movable": PUBLIC,
    "movable": PUBLIC,
    "minicluster/lead_server:Pieces": PUBLIC,
    "minicluster/lead_server:pieces": PUBLIC,
    "QUEUE_JOBS_HELD": FLUX,
    "minicluster/save_restore:_settle": "a command of start.sh",
    "minicluster/save_restore:settle": "a command of start.sh",
    "minicluster/embedded:share": "a key of a message between brokers",
    "minicluster/malleable:share": PUBLIC,
    "queue_policies/simulator:share": "a setting of workloads, `--workload apgas:share=0.5`",
    "queue_policies:_place": PLACING,
    "queue_policies:_place_smaller": PLACING,
    "queue_policies/nodes:place": PLACING,
    "queue_policies/placement:place": PLACING,
    "tests/queue_policies:place": PLACING,
    "tests/embedded:place": PLACING,
    "tests/lead:place": PLACING,
    "queue_policies:place": PUBLIC,
    "queue_policies:place_in_order": PUBLIC,
    "queue_policies:share": PUBLIC,
    "share_process_namespace": KUBERNETES,
    "Sketch": PUBLIC,
    "tests/devcluster:PAUSE": KUBERNETES,
    "_sketch": PUBLIC,
    "sketch": PUBLIC,
    "tests/project:test_findings": "what a review finds is called so",
    "tests/queue_policies:test_draft": PUBLIC,
}
"""Whole identifiers that stay, in the whole project or in one room, and why."""

_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")


class Made(NamedTuple):
    """A name where it is made."""

    path: str
    line: int
    name: str
    kind: str = ""

    def words(self) -> Iterator[tuple[str, str]]:
        """Yield the banned words in it, each with the term in its place."""
        parts = f"_{'_'.join(part.lower() for part in _PART.findall(self.name))}_"
        yield from ((word, term) for word, term in INSTEAD.items() if f"_{word}_" in parts)
        bare = self.name.strip("_")
        if self.kind == "class" and bare in INSTEAD_OF_CLASSES:
            yield f"class {bare}", INSTEAD_OF_CLASSES[bare]
        if bare.isupper():
            yield from (
                (f"constant {word}", term)
                for word, term in INSTEAD_OF_CONSTANTS.items()
                if f"_{word}_" in parts
            )
            if bare.lower() in INSTEAD_OF_WHOLE_CONSTANTS:
                yield f"constant {bare.lower()}", INSTEAD_OF_WHOLE_CONSTANTS[bare.lower()]
        if self.kind == "module" and bare in INSTEAD_OF_MODULES:
            yield f"module {bare}", INSTEAD_OF_MODULES[bare]

    def exceptions(self) -> tuple[str, str]:
        """Return the keys under which it may be an exception."""
        room = "/".join(self.path.split("/")[:-1][:2])
        return self.name, f"{room}:{self.name}"


def made(source: Source) -> Iterator[Made]:
    """Yield the names that a file makes, its own first."""
    yield Made(source.path, 1, PurePath(source.path).stem, "module")
    for node in ast.walk(source.tree):
        found = _name(node)
        if found is not None:
            yield Made(source.path, getattr(node, "lineno", 1), *found)


def _name(node: ast.AST) -> tuple[str, str] | None:
    match node:
        case ast.ClassDef(name=name):
            return name, "class"
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name):
            return name, "function"
        case ast.arg(arg=name) | ast.alias(asname=str(name)) | ast.ExceptHandler(name=str(name)):
            return name, "variable"
        case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
            return name, "variable"
        case _:
            return None


def _everything() -> Iterator[Made]:
    for source in sources(*EVERYTHING):
        if not source.path.startswith(FROZEN):
            yield from made(source)


def _found() -> dict[str, dict[str, Made]]:
    """Return the identifiers with banned words, by word, each where it is first made."""
    found: dict[str, dict[str, Made]] = {}
    for one in _everything():
        if not any(key in KEPT for key in one.exceptions()):
            for word, _ in one.words():
                found.setdefault(word, {}).setdefault(one.name, one)
    return found


def _terms() -> dict[str, str]:
    return {
        **INSTEAD,
        **{f"class {word}": term for word, term in INSTEAD_OF_CLASSES.items()},
        **{f"constant {word}": term for word, term in INSTEAD_OF_CONSTANTS.items()},
        **{f"constant {word}": term for word, term in INSTEAD_OF_WHOLE_CONSTANTS.items()},
        **{f"module {word}": term for word, term in INSTEAD_OF_MODULES.items()},
    }


def test_no_identifier_has_a_banned_word() -> None:
    terms = _terms()
    wrong = [
        f"{one.path}:{one.line}: {one.name}: in place of {word!r}: {terms[word]}"
        for word, names in _found().items()
        for one in names.values()
    ]
    assert wrong == []


def _prose(source: Source) -> Iterator[tuple[int, str]]:
    """Yield docstrings, also those of fields, and comments, each with its line."""
    for node in ast.walk(source.tree):
        match node:
            case ast.Expr(value=ast.Constant(value=str(text))):
                yield node.lineno, text
    for token in tokenize.generate_tokens(io.StringIO(source.text).readline):
        if token.type == tokenize.COMMENT:
            yield token.start[0], token.string


def test_prose_has_the_words_of_the_field() -> None:
    private = re.compile(rf"\b({'|'.join(PRIVATE)})\b", re.IGNORECASE)
    wrong = [
        f"{source.path}:{line}: {found[0]}"
        for source in sources(*SHOWN)
        for line, text in _prose(source)
        if (found := private.search(re.sub(r"`[^`]*`", "", text)))
    ]
    assert wrong == []


def test_every_exception_is_made_somewhere() -> None:
    used = {key for one in _everything() for key in one.exceptions() if list(one.words())}
    assert sorted(KEPT.keys() - used) == []


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("class TurnedAway: ...", ["turned_away"], id="words in a row"),
        pytest.param("def _on_look(self): ...", ["look"], id="part of a name"),
        pytest.param("class Told: ...", ["told", "class Told"], id="a participle as a class"),
        pytest.param("self.held = told", ["held"], id="what is used only is not made"),
        pytest.param("def f(*, share=1): ...", ["share"], id="a parameter"),
        pytest.param("from a import b as crew", ["crew"], id="an alias"),
        pytest.param(
            "FIRST_PAUSE = _AT_A_TIME = 1", ["constant pause", "constant at_a_time"], id="a constant"
        ),
        pytest.param("most = pause = longest_run = 1", [], id="what is a word of a constant only"),
        pytest.param("_GRACE = GRACE_PERIOD = 1", ["constant grace"], id="all of a constant"),
        pytest.param("outlook = shareholder = sayings = 1", [], id="parts of words"),
    ],
)
def test_words_are_whole_parts(text: str, expected: list[str]) -> None:
    names = (_name(node) for node in ast.walk(ast.parse(text)))
    found = [word for name in names if name is not None for word, _ in Made("a.py", 1, *name).words()]
    assert found == expected
