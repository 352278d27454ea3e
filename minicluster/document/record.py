"""What all records of a MiniCluster document have in common."""

from typing import Any

from pydantic import BaseModel, ConfigDict, model_validator
from pydantic.alias_generators import to_camel


class Record(BaseModel):
    """A frozen part of a document: `camelCase` there, `snake_case` here, nothing that is not described."""

    model_config = ConfigDict(
        frozen=True,
        extra="forbid",
        alias_generator=to_camel,
        validate_by_alias=True,
        validate_by_name=True,
        # Kubernetes' documents have no NaN, and JSON has none.
        allow_inf_nan=False,
    )

    @model_validator(mode="before")
    @classmethod
    def _null_is_absent(cls, value: Any) -> Any:
        """Remove nulls, as Kubernetes does before it fills in defaults."""
        if isinstance(value, dict):
            return {key: item for key, item in value.items() if item is not None}
        return value
