"""`--env`: which variables a job gets (flux-submit(1), "ENV RULES")."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from broker_config.formats import env_rules
from broker_config.formats.errors import EnvRuleError
from minicluster.embedded.commands.console import fail

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from broker_config.formats.env_rules import Variables


def environment(rules: Iterable[str], own: Mapping[str, str] = os.environ) -> Variables:
    """Apply `rules` to the environment `own`, or end the command."""
    try:
        return env_rules.apply(rules, own, own, _read)
    except (EnvRuleError, OSError) as error:
        fail(str(error) if isinstance(error, EnvRuleError) else f"--env: {error}")


def _read(path: str) -> str:
    with open(os.path.expanduser(path), encoding="utf-8") as file:  # noqa: PTH111, PTH123 - pathlib is slow to import
        return file.read()
