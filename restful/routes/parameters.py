"""What parameters of routes may be: never with a NUL, which PostgreSQL has in no text."""

from typing import Annotated

from fastapi import Path, Query

NO_NUL = r"^[^\x00]*$"

ObjectId = Annotated[str, Path(max_length=64, pattern=NO_NUL)]
"""The id of something; what is none is as absent as any other."""
ActorQuery = Annotated[str, Query(max_length=26, pattern=NO_NUL)]
ActionQuery = Annotated[str, Query(max_length=50, pattern=NO_NUL)]
ClusterQuery = Annotated[str | None, Query(max_length=200, pattern=NO_NUL)]
AfterQuery = Annotated[str, Query(max_length=63, pattern=NO_NUL)]
LimitQuery = Annotated[int, Query(ge=1, le=500)]
