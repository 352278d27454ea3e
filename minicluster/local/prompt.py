"""The user's shell, and the sign in its prompt that it speaks to a cluster."""

from __future__ import annotations

import os


def shell_of_user() -> tuple[str, ...]:
    """Return the program for an interactive cluster."""
    return (os.environ.get("SHELL") or "/bin/sh",)


def variables(name: str) -> dict[str, str]:
    """Return variables that put a cluster's name before the prompt of bash and sh, until the shell ends.

    PS1 alone is not enough for bash: its start files set it anew. They come before PROMPT_COMMAND.
    """
    sign = f"({name}) "
    own = os.environ.get("PROMPT_COMMAND", "")
    signed = f'[[ $PS1 == "{sign}"* ]] || PS1="{sign}$PS1"'
    return {
        "PS1": f"{sign}{os.environ.get('PS1', '$ ')}",
        "PROMPT_COMMAND": f"{own}; {signed}" if own else signed,
    }
