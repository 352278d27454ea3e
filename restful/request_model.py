"""The base of all request bodies."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class RequestModel(BaseModel):
    """What comes from outside: a member that is not known is an error."""

    model_config = ConfigDict(extra="forbid", frozen=True)
