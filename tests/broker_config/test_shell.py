"""Shell words and lines."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from broker_config import shell
from broker_config.errors import SettingsError
from tests.budgets import examples

SHELLS = [name for name in ("dash", "bash", "sh") if shutil.which(name)]
words = st.binary(max_size=12).filter(lambda raw: b"\0" not in raw).map(os.fsdecode)
lines = st.lists(
    st.sampled_from([*"ab \t\n'\"\\$(){}`;&|<>#=!*~", "$(", "${", "if ", "x=1"]), max_size=10
).map("".join)


@pytest.mark.parametrize("name", SHELLS)
@settings(max_examples=examples(25))
@given(st.lists(words | st.text("'\"$\\`\n é!~-", max_size=6), max_size=5))
def test_quoted_words_survive(name, arguments):
    """Whatever they hold, a shell reads them back unchanged."""
    script = f"printf '%s\\0' {shell.join(arguments)}".encode(errors="surrogateescape")
    output = subprocess.run([name, "-c", script], capture_output=True, check=True).stdout
    assert output.split(b"\0")[:-1] == ([os.fsencode(word) for word in arguments] or [b""])


@pytest.mark.parametrize("name", SHELLS)
@settings(max_examples=examples(60))
@given(lines)
def test_simple_line_stays_within_its_command(name, line):
    """Put behind a command, it is that command's arguments and nothing else: no second one is run."""
    if not shell.is_simple(line) or shell.substitutes(line):
        return
    script = f'count() {{ ran=x$ran; }}\nset -f\ncount {line}\necho "<$ran>"\n'
    done = subprocess.run([name, "-c", script], capture_output=True, text=True, check=False)
    assert done.stdout == "<x>\n" or "ad substitution" in done.stderr, done


@pytest.mark.parametrize(
    "line",
    [
        "lmp -in in.lj",
        "a 'b;c' \"d|e\" f\\;g",
        "echo $(date; echo \"a)\" 'b)' $((1+(2))) `x;y`)",
        "echo `a; b \\` c`",
        'echo "$(a | b)" ${X:-a b}',
        "echo a#b a\\\nb",
        "-n 2 prog",
        "time prog",
        'echo "it\'s"',
    ],
)
def test_simple(line):
    """Words, however quoted or expanded."""
    assert shell.is_simple(line)


@pytest.mark.parametrize(
    "line",
    [
        "",
        "a; b",
        "a && b",
        "a | b",
        "a &",
        "a > f",
        "a < f",
        "a\nb",
        "(a)",
        "a # comment",
        "if a",
        "{ a",
        "! a",
        "A=1 b",
        "cd x",
        ". x",
        "echo 'open",
        'echo "open',
        "echo $(open",
        "echo ${open",
        "echo `open",
        "echo open\\",
    ],
)
def test_not_simple(line):
    """Operators, several lines, reserved words, assignments, builtins, unfinished quotes."""
    assert not shell.is_simple(line)


@pytest.mark.parametrize("opening", ["$(", "${a:-", '"$(', "$((", "$( a; ("])
@pytest.mark.parametrize("check", [shell.is_simple, shell.check_nesting, shell.is_words])
def test_what_is_too_deep(check, opening):
    """Python's stack is no measure of a line: it is named."""
    with pytest.raises(SettingsError, match="more than 100 quotes and substitutions inside each other"):
        check("echo " + opening * 2_000)


def test_each_line_is_checked():
    """Of a batch each is a command, also behind a quote that stays open."""
    shell.check_nesting("a $(b)\n" * 1_000)
    with pytest.raises(SettingsError, match="more than 100 quotes"):
        shell.check_nesting("it's\necho " + "$(" * 101)


@pytest.mark.parametrize(
    ("text", "message"),
    [("a\0b", "holds a NUL character"), ("a\ud800", "holds half a surrogate pair")],
)
def test_text_that_no_argument_can_hold(text, message):
    """It is refused before a script is made."""
    with pytest.raises(SettingsError, match=message):
        shell.quote(text)


@pytest.mark.parametrize("name", ["", "a-b", "1a", "é", "a.b"])
def test_names_that_no_shell_exports(name):
    """Kubernetes knows such variables, a shell does not."""
    with pytest.raises(SettingsError, match="is no variable name"):
        shell.check_name(name)


OPEN = {
    "single": ("echo 'it", "'"),
    "double": ('echo "it', '"'),
    "over lines": ("echo 'a\nb", "'"),
    "behind a continued line": ("echo \\\n'a", "'"),
    "behind a command": ("true; echo 'it", "'"),
    "within another": ("""echo "it's""", '"'),
    "closed": ("echo 'it'", ""),
    "closed in a later line": ("echo 'a\nb'", ""),
    "escaped": ("echo it\\'s", ""),
    "in a comment": ("true # it's", ""),
    "in a comment of a continued line": ("true \\\n#'it", ""),
    "behind an escaped backslash": ("true \\\\\necho 'it", ""),
    "in a word with a hash": ("echo a#'b", "'"),
    "in a later line": ("exit 0\necho 'it", ""),
    "in a long text": ("echo 'it" + 10_000 * "t", ""),
    "in a here-document": ("cat <<E 'a\nit's\nE", ""),
    "in a substitution": ("echo $(echo 'it)", ""),
    "in a quote of bash": ("echo $'it\\'s'", ""),
}


@pytest.mark.parametrize(("text", "quote"), OPEN.values(), ids=OPEN)
def test_a_quote_is_open_in_the_first_line(text, quote):
    assert shell.open_quote(text) == quote


@pytest.mark.parametrize("name", SHELLS)
@settings(max_examples=examples(60))
@given(st.lists(st.sampled_from([*"ab \t\n'\"\\;&|#"]), max_size=10).map("".join))
def test_nothing_runs_of_a_line_with_an_open_quote(name, line):
    """Whatever else it holds."""
    text = f"echo ran; {line}"
    if not shell.open_quote(text):
        return
    done = subprocess.run([name, "-c", text], capture_output=True, check=False)
    assert (done.stdout, done.returncode != 0) == (b"", True)
