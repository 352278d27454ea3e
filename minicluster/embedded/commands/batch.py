"""`flux batch` and `flux alloc`: a sub-instance on an allocation of its own, one broker a node."""

from __future__ import annotations

import json
import os
import shlex
from typing import TYPE_CHECKING

from broker_config.formats import directives, jobid
from broker_config.formats.errors import DirectiveError
from broker_config.formats.jobspec import system_of
from minicluster.embedded.client import JSON, BrokerClient
from minicluster.embedded.commands import submission
from minicluster.embedded.commands.console import fail
from minicluster.embedded.commands.environment import environment
from minicluster.embedded.commands.specification import jobspec
from minicluster.embedded.commands.submit import request, submit_and_attach, without_dashes

if TYPE_CHECKING:
    import argparse

_MODE = 0o100700  # of the script: a regular file that its owner runs


def main(argv: list[str]) -> int:
    """Run `flux batch` or `flux alloc`."""
    return _batch(argv[1:]) if argv[0] == "batch" else _alloc(argv[1:])


def _batch(words: list[str]) -> int:
    parser = submission.parser("batch", "SCRIPT [ARGS...]")
    parser.flag("--wrap", help="wrap the words in a script")
    options = parser.parse_args(words)
    name, script, arguments = _script(without_dashes(options.command), wrap=options.wrap)
    # The script's own options come first: the command line overrides them.
    options = parser.parse_args(_directives(script, name) + words)
    options.job_name = options.job_name or name
    if options.output is None:
        options.output = "flux-{{id}}.out"
    spec = _specification(options, ["{{tmpdir}}/script", *arguments])
    files = system_of(spec).setdefault("files", {})
    files["script"] = {"mode": _MODE, "data": script, "encoding": "utf-8"}
    if options.dry_run:
        print(json.dumps(spec))
        return 0
    with BrokerClient() as client:
        number = client.rpc("job-ingest.submit", request(spec, options))["id"]
    if not options.quiet:
        print(jobid.f58(number))
    return 0


def _script(command: list[str], *, wrap: bool) -> tuple[str, str, list[str]]:
    """Return the script's name, its text and its arguments."""
    if not command:
        fail("SCRIPT is missing")
    name = os.path.basename(command[0])  # noqa: PTH119 - pathlib is slow to import
    if wrap:
        return name, f"#!/bin/sh\n{shlex.join(command)}\n", []
    try:
        with open(command[0], encoding="utf-8", errors="surrogateescape") as file:  # noqa: PTH123
            text = file.read()
    except OSError as error:
        fail(f"{error.strerror}: '{command[0]}'")
    if not text.startswith("#!"):
        fail(f"{command[0]} does not appear to start with '#!'")
    return name, text, command[1:]


def _directives(script: str, name: str) -> list[str]:
    """Return the options in the script's directives (RFC 36)."""
    try:
        return [word for directive in directives.read(script) for word in directive.words]
    except DirectiveError as error:
        fail(f"{name}: {error}")


def _alloc(words: list[str]) -> int:
    options = submission.parser("alloc", "[COMMAND...]").parse_args(words)
    command = without_dashes(options.command) or [os.environ.get("SHELL", "/bin/sh")]
    return submit_and_attach(_specification(options, command), options)


def _specification(options: argparse.Namespace, program: list[str]) -> JSON:
    options = submission.counted(options)
    if not options.ntasks and not options.nodes:
        fail("Number of slots to allocate must be specified")
    spec = jobspec(options, ["flux", "broker", *program], environment(options.env))
    shell = system_of(spec).setdefault("shell", {}).setdefault("options", {})
    # One broker on each node. Brokers are no MPI program, and one may exit before the others.
    for name, value in (("per-resource", {"type": "node"}), ("mpi", "none"), ("exit-timeout", "none")):
        shell.setdefault(name, value)
    return spec
