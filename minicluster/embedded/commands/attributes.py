"""`flux getattr`, `flux setattr`, `flux lsattr`: the attributes of a broker."""

from __future__ import annotations

from minicluster.embedded.client import Client, RpcError
from minicluster.embedded.commands.console import fail, note

PREFIX = "flux-{name}: "


def main(argv: list[str]) -> int:
    """Run the command that argv[0] names."""
    command, *words = argv
    wanted = {"getattr": ["name"], "setattr": ["name", "value"], "lsattr": []}[command]
    if len(words) != len(wanted) or words[:1] in (["-h"], ["--help"]):
        note(f"Usage: flux {command} {' '.join(wanted)}".rstrip())
        return 0 if words[:1] in (["-h"], ["--help"]) else 1
    with Client() as client:
        try:
            _answer(client, command, words)
        except RpcError as error:
            named = not words or error.text.startswith(f"{words[0]}: ")
            fail(error.text if named else f"{words[0]}: {error}")
    return 0


def _answer(client: Client, command: str, words: list[str]) -> None:
    if command == "setattr":
        client.rpc("attr.set", {"name": words[0], "value": words[1]})
    elif command == "getattr":
        print(client.rpc("attr.get", {"name": words[0]})["value"])
    else:
        print("\n".join(client.rpc("attr.list")["names"]))
