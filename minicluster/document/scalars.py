"""The types of texts and numbers in a MiniCluster document, each with its bounds and its pattern.

A `TextPattern` has the same rule in three forms: a Python check, a JSON schema pattern for the CRD, and words
for the user whose value does not match.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field, Strict
from pydantic_core import PydanticCustomError, core_schema

from minicluster.document.bounds import MAX_HOSTS

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
    from pydantic.json_schema import JsonSchemaValue

# As many as there may be hosts; small enough for a rank to stay in a host name.
MAX_BROKERS = MAX_HOSTS
MAX_INT32 = 2_147_483_647
# Bounds keep the cost of the CRD's rules and the size of a stored object finite (etcd: 1.5 MB an object).
MAX_CONTAINERS = 32
MAX_ENTRIES = 256
MAX_TEXT = 4_096
MAX_SCRIPT = 262_144
# TOML's integers have 64 bits.
MAX_SETTING = 2**63


@dataclass(frozen=True, slots=True)
class TextPattern:
    """A pattern that the whole text must match (RE2 and Python alike), and what it allows, in words."""

    pattern: str
    allowed: str

    def check(self, text: str) -> str:
        """Return the text. Raises the error from which a `Problem` is made."""
        if re.fullmatch(self.pattern, text) is None:
            raise PydanticCustomError("shape", "not {allowed}", {"allowed": self.allowed})
        return text

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        return core_schema.no_info_after_validator_function(self.check, handler(source))

    def __get_pydantic_json_schema__(
        self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        # x-allowed: the same in words, for docs/reference.md; the CRD leaves it out.
        return {**handler(schema), "pattern": f"^({self.pattern})$", "x-allowed": self.allowed}


@dataclass(frozen=True, slots=True)
class OrEmpty:
    """Makes a text with a pattern one that may also be empty: what is not given."""

    def read(self, value: object, handler: core_schema.ValidatorFunctionWrapHandler) -> object:
        """Return an empty text as it is, and have every other value checked."""
        return value if value == "" else handler(value)

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        return core_schema.no_info_wrap_validator_function(self.read, handler(source))

    def __get_pydantic_json_schema__(
        self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        inner = handler(schema)
        return {**inner, "pattern": f"^({inner['pattern'][1:-1]}?)$"}


@dataclass(frozen=True, slots=True)
class WholeNumberToo:
    """A text that may also be written as a whole number: Kubernetes' int-or-string."""

    def read(self, value: object) -> object:
        """Return a whole number as text, and other values as they are."""
        return str(value) if isinstance(value, int) and not isinstance(value, bool) else value

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        return core_schema.no_info_before_validator_function(self.read, handler(source))

    def __get_pydantic_json_schema__(
        self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        inner = {key: value for key, value in handler(schema).items() if key not in {"type", "maxLength"}}
        return {**inner, "x-kubernetes-int-or-string": True}


@dataclass(frozen=True, slots=True)
class PlainValue:
    """A text, a number, true or false: what TOML can hold on one line."""

    allowed: str = "a text, a number, true or false"

    def check(self, value: object) -> object:
        """Return the value. Raises the error from which a `Problem` is made."""
        fits = isinstance(value, bool | str) or (
            isinstance(value, int | float) and math.isfinite(value) and abs(value) < MAX_SETTING
        )
        if not fits or (isinstance(value, str) and len(value) > MAX_TEXT):
            raise PydanticCustomError("shape", "not {allowed}", {"allowed": self.allowed})
        return value

    def __get_pydantic_core_schema__(
        self, source: Any, handler: GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        return core_schema.no_info_plain_validator_function(self.check)

    def __get_pydantic_json_schema__(
        self, schema: core_schema.CoreSchema, handler: GetJsonSchemaHandler
    ) -> JsonSchemaValue:
        return {"x-kubernetes-preserve-unknown-fields": True}


LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
# A Service's name begins with a letter (RFC 1035).
HOST_LABEL = r"[a-z]([-a-z0-9]*[a-z0-9])?"
SUBDOMAIN = rf"{LABEL}(\.{LABEL})*"
# resource.Quantity: decimal or binary suffix, or an exponent.
QUANTITY = r"[+-]?([0-9]+|[0-9]+\.[0-9]*|\.[0-9]+)(([KMGTPE]i)|[numkMGTPE]|([eE][+-]?[0-9]{1,2}))?"
# Flux standard duration (RFC 23): a number and one suffix, or infinity.
DURATION = r"([0-9]+|[0-9]+\.[0-9]*|\.[0-9]+)(ms|s|m|h|d)?|inf|infinity"

DNS_LABEL = TextPattern(LABEL, 'a DNS label: a-z, 0-9 and "-", beginning and ending with a letter or digit')
VARIABLE = TextPattern(r"[A-Za-z_][A-Za-z0-9_]*", 'an environment variable\'s name: letters, digits and "_"')
SETTING = TextPattern(r"[A-Za-z0-9_-]+", 'the name of a setting: letters, digits, "-" and "_"')

Flag = Annotated[bool, Strict()]
Integer = Annotated[int, Strict(), Field(ge=-MAX_INT32, le=MAX_INT32)]
Natural = Annotated[int, Strict(), Field(ge=0, le=MAX_INT32)]
Positive = Annotated[int, Strict(), Field(ge=1, le=MAX_INT32)]
BrokerCount = Annotated[int, Strict(), Field(ge=0, le=MAX_BROKERS)]
UserId = Annotated[int, Strict(), Field(ge=0, le=MAX_INT32)]
Port = Annotated[int, Strict(), Field(ge=1, le=65_535)]

ShortText = Annotated[str, Strict(), Field(max_length=MAX_TEXT)]
Script = Annotated[str, Strict(), Field(max_length=MAX_SCRIPT)]
SingleLine = Annotated[
    str,
    Strict(),
    Field(max_length=MAX_TEXT),
    TextPattern(r"[^\n\r]*\n*", "one line, without line breaks inside"),
]
DirectoryPath = Annotated[
    str,
    Strict(),
    Field(max_length=MAX_TEXT),
    TextPattern(r"(/[^\x00]*)?", "an absolute path, beginning with /"),
]
LabelName = Annotated[str, Strict(), Field(max_length=63), DNS_LABEL]
OptionalLabelName = Annotated[LabelName, OrEmpty()]
HostLabel = Annotated[
    str,
    Strict(),
    Field(max_length=63),
    TextPattern(HOST_LABEL, 'a host name: a-z, 0-9 and "-", beginning with a letter'),
]
OptionalHostLabel = Annotated[HostLabel, OrEmpty()]
ObjectName = Annotated[
    str,
    Strict(),
    Field(max_length=253),
    TextPattern(SUBDOMAIN, 'a Kubernetes object name: a-z, 0-9, "-" and "."'),
]
OptionalObjectName = Annotated[ObjectName, OrEmpty()]
VariableName = Annotated[str, Strict(), Field(max_length=256), VARIABLE]
SettingName = Annotated[str, Strict(), Field(max_length=128), SETTING]
Quantity = Annotated[
    str,
    Strict(),
    Field(max_length=64),
    TextPattern(QUANTITY, 'a Kubernetes quantity, such as 2, "500m", "1.5" or "4Gi"'),
    WholeNumberToo(),
]
Duration = Annotated[
    str,
    Strict(),
    Field(max_length=64),
    TextPattern(DURATION, 'a Flux duration: a number with ms, s, m, h or d, such as "5s", or "inf"'),
]
Topology = Annotated[
    str,
    Strict(),
    Field(max_length=64),
    TextPattern(r"(kary:[1-9][0-9]*|binomial|custom)?", '"kary:N" (N at least 1), "binomial" or "custom"'),
]
