"""The rules of `--env`, as flux-submit(1) has them."""

from __future__ import annotations

import pytest

from broker_config.formats import env_rules
from broker_config.formats.errors import EnvRuleError

BASE = {"A": "1", "AB": "2", "B": "5"}
OWN = {"A": "mine", "HOME": "/home/you"}
FILE = "-A*\n  C=$B \nT={{id}}\n"


def _applied(*rules: str) -> env_rules.Variables:
    return env_rules.apply(rules, BASE, OWN, {"rules": FILE}.__getitem__)


@pytest.mark.parametrize(
    ("rules", "left"),
    [
        pytest.param([], BASE, id="nothing"),
        pytest.param(["-A*"], {"B": "5"}, id="taken away by a glob"),
        pytest.param(["-/A./"], {"A": "1", "B": "5"}, id="by a regular expression"),
        pytest.param(["-*", "A"], {"A": "mine"}, id="added from the user's own"),
        pytest.param(["H*"], {**BASE, "HOME": "/home/you"}, id="added by a glob"),
        pytest.param(["A"], BASE, id="what is there stays"),
        pytest.param(["A=9", "C=$A$HOME"], {**BASE, "A": "9", "C": "9/home/you"}, id="values from both"),
        pytest.param(["C=$$${B}="], {**BASE, "C": "$5="}, id="dollars and equals signs"),
        pytest.param(["^rules", "D=$C"], {"B": "5", "C": "5", "D": "5"}, id="rules from a file"),
    ],
)
def test_variables(rules: list[str], left: dict[str, str]) -> None:
    assert _applied(*rules).values == left


@pytest.mark.parametrize("rules", [["T={{id}}"], ["^rules"]], ids=["rule", "file"])
def test_templates_are_for_the_shell(rules: list[str]) -> None:
    found = _applied(*rules)
    assert (found.templates, "T" in found.values) == ({"T": "{{id}}"}, False)


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ("C=$NOPE", "--env: Variable 'NOPE' not found in C=$NOPE"),
        ("C=${", "--env: Unable to substitute C=${"),
        ("-/(/", "--env: -/(/: no regular expression: missing ), unterminated subpattern at position 0"),
    ],
    ids=["unknown", "dollar", "pattern"],
)
def test_what_is_no_rule_is_named(rule: str, message: str) -> None:
    with pytest.raises(EnvRuleError) as refusal:
        _applied(rule)
    assert str(refusal.value) == message
