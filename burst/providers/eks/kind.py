"""How the service finds and opens this provider."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING

from burst.errors import CallInvalid
from burst.providers.eks.settings import EksSettings

if TYPE_CHECKING:
    from pydantic import BaseModel

    from burst.providers.kubernetes.kind import JoinContext
    from burst.providers.provider import BurstProvider

CLIENT = "boto3"


class EksKind:
    """Opens providers of EKS."""

    @property
    def settings(self) -> type[BaseModel]:
        """The model of their settings."""
        return EksSettings

    def open(self, name: str, settings: BaseModel, context: JoinContext) -> BurstProvider:
        """Return a provider. This makes no call. Raises CallInvalid where its client is not installed."""
        if find_spec(CLIENT) is None:
            raise CallInvalid(f"provider {name} needs {CLIENT}: `pip install '.[eks]'` in a checkout")
        # What makes calls takes a moment to import: nobody else needs it.
        from burst.providers.eks.provider import opened  # noqa: PLC0415

        assert isinstance(settings, EksSettings)  # noqa: S101 - who opens it has checked them
        return opened(name, settings, context)


KIND = EksKind()
