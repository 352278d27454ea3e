"""What `minicluster explain` tells of a field: the facts of docs/reference.md, found by its field path."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from minicluster.document import field_facts
from minicluster.document.errors import UnknownField
from minicluster.document.names import KIND
from minicluster.document.schema import homes, json_schema

if TYPE_CHECKING:
    from collections.abc import Iterator

    from minicluster.document.structural import SchemaNode

_INDEX = re.compile(r"\[[^]]*\]")
_KINDS = frozenset({"minicluster", "miniclusters", "mc"})


@dataclass(frozen=True, slots=True)
class FieldExplanation:
    """A field of the document."""

    field_path: str
    """Such as `spec.containers[].image`; empty: the document itself."""
    schema: SchemaNode
    """Its JSON schema, without the alternative null."""
    records: dict[str, SchemaNode]
    """The records that schemas refer to, by their names."""
    is_required: bool = False

    @property
    def name(self) -> str:
        """The last part of its path."""
        return self.field_path.rpartition(".")[2]

    @property
    def type(self) -> str:
        """Its type, in words; that of a record is the record's name."""
        record, _ = field_facts.record_of(self.schema)
        return (
            field_facts.of_shape(self.schema, record)
            if record
            else field_facts.type_name(self.name, self.schema)
        )

    @property
    def allowed(self) -> str:
        """Its shape, values or bounds; empty where it has none."""
        return field_facts.allowed(self.schema).replace("`", "")

    @property
    def default(self) -> str:
        """Its default; empty where it has none."""
        return "required" if self.is_required else field_facts.default(self.schema.get("default")).strip("`")

    @property
    def description(self) -> str:
        """What it means."""
        return str(self.schema.get("description") or self._record.get("description", ""))

    @property
    def fixed(self) -> str:
        """Why it cannot change; empty: it can."""
        return field_facts.fixed(self.field_path)

    def fields(self) -> Iterator[FieldExplanation]:
        """Yield the fields below it."""
        _, suffix = field_facts.record_of(self.schema)
        above = f"{self.field_path}{suffix}."
        required = self._record.get("required", ())
        for name, field in self._record.get("properties", {}).items():
            plain = field_facts.without_null(field)
            yield FieldExplanation(f"{above}{name}".lstrip("."), plain, self.records, name in required)

    @property
    def _record(self) -> SchemaNode:
        record, _ = field_facts.record_of(self.schema)
        return self.records[record] if record else self.schema

    def below(self, step: str) -> FieldExplanation:
        """Return the field of this name below it, or an entry of a map. Raises UnknownField."""
        known = {each.name: each for each in self.fields()}
        if step in known:
            return known[step]
        if field_facts.record_of(self.schema)[1] == ".<name>":
            return self
        if entry := field_facts.values_of(self.schema):
            described = {"description": self.description, **entry}
            return FieldExplanation(f"{self.field_path}.<name>", described, self.records)
        near = difflib.get_close_matches(step, known, 1)
        meant = f"{self.field_path}.{near[0]}".lstrip(".") if near else homes().get(step, "")
        hint = f"did you mean {meant}?" if meant else f"known are {', '.join(known)}" if known else ""
        raise UnknownField(f"{self.field_path or KIND} has no field {step}" + (f"; {hint}" if hint else ""))


def explain(field_path: str) -> FieldExplanation:
    """Return the field at a path, such as `spec.containers[0].image`. Raises UnknownField."""
    steps = [step for step in _INDEX.sub("", field_path).split(".") if step]
    schema = json_schema()
    found = FieldExplanation("", schema, schema["$defs"])
    for step in steps[bool(steps) and steps[0].lower() in _KINDS :]:
        found = found.below(step)
    return found


def schema_of(field: FieldExplanation) -> SchemaNode:
    """Return the JSON schema of a field, complete with what it refers to."""
    whole: dict[str, Any] = json_schema()
    return {"$schema": whole["$schema"], **field.schema, "$defs": whole["$defs"]}
