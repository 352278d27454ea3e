"""What Python itself cannot read, or not check, is a problem of the document with its line or field."""

from typing import NoReturn

import pytest

from minicluster.document import DocumentError, cluster, load, loading, validate
from minicluster.document.rules import Rule

pytestmark = pytest.mark.usefixtures("unmeasured")

HEAD = "apiVersion: flux-framework.org/v1alpha2\nkind: MiniCluster\nmetadata: {name: m}\nspec:\n"
DOCUMENT = HEAD + "  containers: [{command: hostname}]\n"
NUMBERS = "a number or character that there is not, or too much text"
TEXTS = {
    "a character beyond all": (
        HEAD + '  logs: "\\UFFFFFFFF"\n',
        f"m.yaml:5: malformed YAML, column 12: {NUMBERS} (OverflowError: Python int too large to convert",
    ),
    "a character beyond Unicode": (
        HEAD + '  logs: "\\U00110000"\n',
        f"m.yaml:5: malformed YAML, column 12: {NUMBERS} (ValueError: chr() arg not in range(0x110000))",
    ),
    "a version of thousands of digits": (
        f"%YAML {'1' * 5_000}.1\n---\n{DOCUMENT}",
        f"m.yaml:1: malformed YAML, column 7: {NUMBERS} (ValueError: Exceeds the limit (4300 digits)",
    ),
    "a million brackets": ("[" * 1_000_000, "m.yaml:1: not readable: nested too deeply, or too large"),
}
ERRORS = {
    "RecursionError: maximum recursion depth exceeded": RecursionError("maximum recursion depth exceeded"),
    "OverflowError: cannot convert float infinity": OverflowError("cannot convert float infinity"),
    "ValueError: Exceeds the limit (4300 digits)": ValueError("Exceeds the limit (4300 digits)"),
}


@pytest.mark.parametrize(("text", "message"), TEXTS.values(), ids=TEXTS)
def test_a_text_that_the_parser_cannot_take_is_a_problem(text: str, message: str) -> None:
    with pytest.raises(DocumentError) as caught:
        load(text + "\n", source="m.yaml")
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(("words", "error"), ERRORS.items(), ids=ERRORS)
def test_a_rule_that_cannot_be_checked_is_a_problem_with_its_fields(
    monkeypatch: pytest.MonkeyPatch, words: str, error: Exception
) -> None:
    def check(_cluster: object) -> NoReturn:
        raise error

    hostile = Rule("hostile", frozenset({"prefix", "command"}), check)
    monkeypatch.setattr(loading, "RULES", [hostile, *loading.RULES])
    with pytest.raises(DocumentError) as caught:
        load(DOCUMENT, source="m.yaml")
    reason = f"spec: command or prefix is too deep or too large to be checked ({words})"
    assert str(caught.value) == f"m.yaml:4: {reason}"


def test_a_rule_for_which_there_is_no_memory_ends_the_check(monkeypatch: pytest.MonkeyPatch) -> None:
    """The others would have no more; who has set a limit finds the error as the cause."""

    def check(_cluster: object) -> NoReturn:
        raise MemoryError

    monkeypatch.setattr(loading, "RULES", [Rule("hostile", frozenset({"command"}), check), *loading.RULES])
    with pytest.raises(DocumentError) as caught:
        load(DOCUMENT + "  size: 0\n", source="m.yaml")
    assert str(caught.value) == "m.yaml: too deep or too large to be checked (MemoryError)"
    assert isinstance(caught.value.__cause__, MemoryError)


def test_the_other_rules_are_checked_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    def check(_cluster: object) -> NoReturn:
        raise RecursionError

    monkeypatch.setattr(loading, "RULES", [Rule("hostile", frozenset(), check), *loading.RULES])
    with pytest.raises(DocumentError) as caught:
        load(DOCUMENT + "  size: 0\n")
    assert [each.path for each in caught.value.problems] == ["spec", "spec.size"]


@pytest.mark.parametrize(
    ("words", "error"), [*ERRORS.items(), ("MemoryError", MemoryError())], ids=[*ERRORS, "MemoryError"]
)
def test_a_document_that_cannot_be_checked_is_a_problem(
    monkeypatch: pytest.MonkeyPatch, words: str, error: Exception
) -> None:
    """Also one that an API server stored."""

    def refuse(*_: object, **_more: object) -> NoReturn:
        raise error

    document = {"apiVersion": cluster.API_VERSION, "kind": cluster.KIND, "metadata": {}, "spec": {}}
    monkeypatch.setattr(cluster.MiniCluster, "model_validate", refuse)
    with pytest.raises(DocumentError) as caught:
        validate(document)
    assert str(caught.value) == f"too deep or too large to be checked ({words})"


NESTED = {"brackets": ("[", "]"), "braces": ("{a: ", "}"), "commands": ("'$(", ")'")}


@pytest.mark.parametrize(("opening", "closing"), NESTED.values(), ids=NESTED)
@pytest.mark.parametrize("depth", [500, 2_000])
@pytest.mark.parametrize("field", ["command", "commands", "resources"])
def test_what_is_nested_too_deeply_is_refused(opening: str, closing: str, depth: int, field: str) -> None:
    """Within what Python can nest, and beyond; the message stays short."""
    quote = opening.count("'") * "'"
    value = f"{quote}{opening.strip(quote) * depth}1{closing.strip(quote) * depth}{quote}"
    with pytest.raises(DocumentError) as caught:
        load(DOCUMENT.replace("command: hostname", f"{field}: {value}"))
    assert len(str(caught.value)) < 2_000
