"""The settings file: what is read of it, and each mistake with its path, its line and its words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from pydantic import BaseModel, ConfigDict, Field, SecretStr

from burst.errors import SettingsInvalid
from burst.settings.file import load, parse
from burst.settings.records import BurstSettings, ProviderSettings, ServiceBudget, UserBudget

if TYPE_CHECKING:
    from pathlib import Path

WHOLE = """\
currency: USD
providers:
  - name: research
    kind: kubernetes
    namespaces: [physics]
    settings: {context: research, token: s3cret}
  - {name: here, kind: local}
budgets:
  - {scope: all, amount: "100"}
  - {scope: "provider:research", amount: "50.5", period: week}
  - {scope: "cluster:physics/waves", amount: "9", period: none}
perUser: {amount: "10", period: day}
"""


def test_every_field_is_read() -> None:
    assert parse(WHOLE).settings == BurstSettings(
        currency="USD",
        providers=(
            ProviderSettings(
                name="research",
                kind="kubernetes",
                namespaces=("physics",),
                settings={"context": "research", "token": "s3cret"},
            ),
            ProviderSettings(name="here", kind="local"),
        ),
        budgets=(
            ServiceBudget(scope="all", amount="100", period="month"),
            ServiceBudget(scope="provider:research", amount="50.5", period="week"),
            ServiceBudget(scope="cluster:physics/waves", amount="9", period="none"),
        ),
        per_user=UserBudget(amount="10", period="day"),
    )


@pytest.mark.parametrize("text", ["", "# nothing\n", "---\n", "{}", "providers:\n"])
def test_an_empty_file_has_no_providers(text: str) -> None:
    assert parse(text).settings == BurstSettings()


WRONG = {
    "yaml": (
        "providers: [",
        "f:1: malformed YAML, column 13: expected the node content, but found '<stream end>'",
    ),
    "a list": ("- a\n", "f:1: found a list, allowed is a mapping"),
    "two documents": ("a: 1\n---\nb: 2\n", "f: has 2 documents; right would be one"),
    "a misspelt field": ("\nprovider: []\n", 'f:2: provider: unknown field; did you mean "providers"?'),
    "an unknown field": (
        "zzz: 1\n",
        (
            "f:1: zzz: unknown field; known here: currency, providers, budgets, payerKeys, selector, rank,"
            " perUser"
        ),
    ),
    "a misspelt field below": (
        "providers:\n  - {name: a, kind: b, nmespaces: []}\n",
        'f:2: providers[0].nmespaces: unknown field; did you mean "namespaces"?',
    ),
    "a Python name": (
        "per_user: {amount: '1'}\n",
        'f:1: per_user: unknown field; did you mean "perUser"?',
    ),
    "a misspelt field of what may be absent": (
        "perUser: {amout: '1'}\n",
        (
            "f:1: perUser.amount: missing; it is needed: What may be reserved and spent in a period.\n"
            'f:1: perUser.amout: unknown field; did you mean "amount"?'
        ),
    ),
    "no kind": (
        "providers:\n  - name: a\n",
        (
            "f:2: providers[0].kind: missing; it is needed: What it is: the name of an entry point, such as"
            " `kubernetes`."
        ),
    ),
    "a name": (
        "providers: [{name: A b, kind: local}]",
        (
            'f:1: providers[0].name: found the text "A b", allowed is a DNS label: a-z, 0-9 and "-",'
            " beginning and ending with a letter or digit"
        ),
    ),
    "money as a number": (
        "budgets: [{scope: all, amount: 50}]",
        "f:1: budgets[0].amount: found the number 50, allowed is a text",
    ),
    "too exact": (
        "budgets: [{scope: all, amount: '0.0000001'}]",
        (
            'f:1: budgets[0].amount: found the text "0.0000001", allowed is an amount in quotes, such as "50"'
            ' or "12.50", of at most 6 decimals'
        ),
    ),
    "a scope": (
        "budgets: [{scope: 'user:ada', amount: '1'}]",
        (
            'f:1: budgets[0].scope: found the text "user:ada", allowed is "all", "provider:NAME" or'
            ' "cluster:NAMESPACE/NAME"'
        ),
    ),
    "a period": (
        "budgets: [{scope: all, amount: '1', period: monthly}]",
        "f:1: budgets[0].period: found the text \"monthly\", allowed is 'day', 'week', 'month' or 'none'",
    ),
    "a name twice, and a provider that is not there": (
        "providers: [\n{name: a, kind: k},\n{name: a, kind: k}]\nbudgets: [{scope: provider:b, amount: '1'}]",
        (
            'f:3: providers[1].name: "a" is already the name of providers[0]\n'
            'f:4: budgets[0].scope: no provider is called "b"; there are: a, a'
        ),
    ),
}


@pytest.mark.parametrize(("text", "message"), WRONG.values(), ids=WRONG)
def test_a_mistake_is_reported_with_its_line(text: str, message: str) -> None:
    with pytest.raises(SettingsInvalid) as caught:
        parse(text, source="f")
    assert str(caught.value) == message


def test_too_deep_a_file_is_refused() -> None:
    with pytest.raises(SettingsInvalid, match="nested too deeply"):
        parse("providers: " + "[" * 100 + "]" * 100)


def test_a_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "burst.yaml"
    path.write_text(WHOLE)
    assert load(path).settings == parse(WHOLE).settings
    path.write_text("zzz: 1\n")
    with pytest.raises(SettingsInvalid, match=f"^{path}:1: zzz: unknown field"):
        load(path)


def test_what_cannot_be_read_reports_why(tmp_path: Path) -> None:
    with pytest.raises(SettingsInvalid, match=r"burst\.yaml: cannot be read: No such file or directory$"):
        load(tmp_path / "burst.yaml")
    path = tmp_path / "latin.yaml"
    path.write_bytes(b"currency: \xff\n")
    with pytest.raises(SettingsInvalid, match=r"latin\.yaml: is not UTF-8: byte 10$"):
        load(path)


class Inner(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    size_bytes: int = Field(description="How large.")


class Cloud(BaseModel):
    """Settings as a plug-in has them, with everything that a model may have."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    context: str
    token: SecretStr | None = None
    pin: int = Field(0, ge=1000)
    disks: list[Inner] = Field([], min_length=1)
    sizes: dict[str, Inner] = {}
    disk: Inner | None = None


def block(settings: str) -> str:
    return f"providers:\n- {{name: a, kind: k}}\n- name: b\n  kind: k\n  settings:\n    {settings}\n"


BLOCKS = {
    "missing": ("{}", "f:5: providers[1].settings.context: missing; it is needed"),
    "unknown": (
        "{context: c, tokn: s3cret}",
        'f:6: providers[1].settings.tokn: unknown field; did you mean "token"?',
    ),
    "a secret": (
        "{context: [s3cret], token: {a: s3cret}, pin: 13}",
        (
            "f:6: providers[1].settings.context: found a list, allowed is a text\n"
            "f:6: providers[1].settings.token: found a mapping, allowed is a text\n"
            "f:6: providers[1].settings.pin: found a number; input should be greater than or equal to 1000"
        ),
    ),
    "a text": (
        "{context: c, pin: s3cret}",
        "f:6: providers[1].settings.pin: found a text of 6 characters, allowed is a whole number",
    ),
    "none": (
        "{context: c, disks: []}",
        "f:6: providers[1].settings.disks: found an empty list, allowed is a list of at least 1",
    ),
    "a mapping of mappings": (
        "{context: c, sizes: {a: 1}}",
        "f:6: providers[1].settings.sizes.a: found a number, allowed is a mapping",
    ),
    "below": (
        "{context: c, disks: [{size: 1}], sizes: {a: {size_byte: 1}}, disk: {}}",
        (
            "f:6: providers[1].settings.disks[0].size_bytes: missing; it is needed: How large.\n"
            "f:6: providers[1].settings.disks[0].size: unknown field; known here: size_bytes\n"
            "f:6: providers[1].settings.sizes.a.size_bytes: missing; it is needed: How large.\n"
            'f:6: providers[1].settings.sizes.a.size_byte: unknown field; did you mean "size_bytes"?\n'
            "f:6: providers[1].settings.disk.size_bytes: missing; it is needed: How large."
        ),
    ),
}


@pytest.mark.parametrize(("settings", "message"), BLOCKS.values(), ids=BLOCKS)
def test_a_providers_own_settings_are_checked_where_they_stand(settings: str, message: str) -> None:
    """And quoted never: there are secrets among them."""
    with pytest.raises(SettingsInvalid) as caught:
        parse(block(settings), source="f").part(("providers", 1, "settings"), Cloud)
    assert sorted(str(caught.value).splitlines()) == sorted(message.splitlines())
    assert caught.value.__suppress_context__
    assert "s3cret" not in str(caught.value)


def test_a_block_that_is_not_there_is_empty() -> None:
    class Nothing(BaseModel):
        size: int = 7

    assert parse(block("{}")).part(("providers", 0, "settings"), Nothing) == Nothing()
