"""Renders the start script of every broker, and the scripts beside it.

jinja2 is imported in this module only, with the first script. Values are quoted here (`shell.quote`): a
template decides what happens, never how a value is written.
"""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from broker_config import broker_toml, burst_queues, instance_resources, shell
from broker_config.errors import SettingsError
from broker_config.settings import (
    BrokerSettings,
    FluxView,
    HookScripts,
    LoggingSettings,
    RunMode,
    ServiceSettings,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from jinja2 import Template

SCRIPT_FILE = "script"
BATCH_FILE = "batch.sh"
OLDEST_FLUX = 88
"""The minor version of flux-core that is tested, 0.88; the failure of an older one names its version."""
MAIN_ATTRIBUTE = "user.minicluster.main=true"
"""Set on the main job, by which it is found in a restored instance."""
WAIT_FOR_TRAP = """\
tries=50
while [ "$tries" -gt 0 ]; do
    while read -r key value; do
        case $key$value in SigCgt:*[4-7c-f]???) exit 0 ;; esac
    done </proc/1/status || exit 0
    sleep 0.1
    tries=$((tries - 1))
done
"""
"""Shell lines that end once the container's first process has a trap for SIGTERM, after 5 s at the latest.

They are for before SIGTERM is sent: the kernel drops a signal for which the first process has no trap yet,
and the pod would hold its place for its whole grace period. SigCgt is the mask of caught signals (proc(5)).
"""

_NOT_OF_RUN = re.compile(r"--(b?cc|jps|prog|quiet|wa)|input")
"""Options of `flux submit` that `flux run` does not have, and those for standard input."""
_BASH_IF_THERE = (
    '#!/bin/sh\nif [ -z "${BASH_VERSION-}" ] && command -v bash >/dev/null; then exec bash "$0" "$@"; fi\n'
)


def render(settings: BrokerSettings) -> str:
    """Return `start.sh` (POSIX sh) for every broker of the MiniCluster; its first lines document its usage.

    Raises SettingsError if a command or variable cannot be written in a shell.
    """
    mode = settings.run_mode
    hooks = settings.hooks
    has_slots = bool(burst_queues.own_slots(settings))
    return _template("start.sh.j2").render(
        **_common(hooks, settings.logging, settings.environment, settings.view),
        name=settings.name,
        config_dir=shell.quote(settings.config_dir),
        curve_path=shell.quote(settings.curve_path),
        resources_path=shell.quote(settings.resources_path) if settings.node.cores is None else "",
        detected=instance_resources.detected(settings),
        logs=shell.quote(settings.logs) if settings.logs else "",
        archive=shell.quote(settings.archive.path) if settings.archive.path else "",
        drain_timeout=settings.archive.drain_timeout,
        remote_lead=settings.bursting.lead is not None,
        fences=settings.bursting.joins,
        disable_socket=settings.disable_socket,
        complete_workers=settings.complete_workers,
        door=settings.lead_api is not None,
        scheduler=bool(settings.scheduler.in_flux) and not broker_toml.replaces(settings),
        queues=starts_queues(settings),
        started=shell.join(burst_queues.started(settings)) if has_slots else "",
        start_queues="open_queues" if has_slots else "flux queue start --all",
        interactive=mode is RunMode.INTERACTIVE,
        launcher=mode is RunMode.LAUNCHER,
        marks=mode in (RunMode.PLAIN, RunMode.BATCH),
        wrap=shell.join(settings.wrap.split(",")) + " " if settings.wrap else "",
        options=shell.join(_broker_options(settings)),
        oldest_minor=OLDEST_FLUX,
        program=_program(settings),
        script=bool(hooks.script),
        pre=_hook("commands.pre", hooks.pre),
        broker_pre=_hook("commands.brokerPre", hooks.broker_pre),
        worker_pre=_hook("commands.workerPre", hooks.worker_pre),
    )


def starts_queues(settings: BrokerSettings) -> bool:
    """Return whether it starts queues beside a new broker: those that have names begin stopped."""
    return broker_toml.names_queues(settings) or bool(burst_queues.own_slots(settings))


def companion_files(settings: BrokerSettings) -> dict[str, str]:
    """Return the scripts that `start.sh` expects beside it: the batch script, the custom script."""
    files: dict[str, str] = {}
    if settings.run_mode is RunMode.BATCH:
        files[BATCH_FILE] = batch_script(settings)
    elif settings.hooks.script:
        files[SCRIPT_FILE] = settings.hooks.script
    return files


def batch_script(settings: BrokerSettings) -> str:
    """Return the script for `flux batch`: each line of the command as a job; with batch_raw the lines."""
    line = settings.command.line
    if settings.batch_raw or settings.hooks.script:
        script = settings.hooks.script or line
        return script if script.startswith("#!") else _BASH_IF_THERE + script
    jobs = [
        _job_words(each) for each in map(str.strip, line.split("\n")) if each and not each.startswith("#")
    ]
    if settings.command.args:
        jobs = [[_argument_list(settings.command.args)]]
    return _template("batch.sh.j2").render(
        name=settings.name,
        logs=shell.quote(settings.logs) if settings.logs else "",
        quiet=settings.logging.quiet,
        jobs=jobs,
    )


def service_script(settings: ServiceSettings) -> str:
    """Return the script of a sidecar or service container: hooks, wait for the broker's socket, command."""
    if not settings.command.strip() and not settings.hooks.script:
        raise SettingsError("a service that is wrapped needs a command (or set noWrapEntrypoint: true)")
    command = shell.join(("sh", "-c", settings.hooks.script or settings.command))
    return _template("service.sh.j2").render(
        **_common(settings.hooks, settings.logging, settings.environment, settings.view),
        wait_socket=settings.wait_socket,
        stays=settings.stays,
        service_pre=_hook("commands.servicePre", settings.hooks.service_pre),
        command=command,
    )


def _common(
    hooks: HookScripts, logging: LoggingSettings, environment: Mapping[str, str], view: FluxView
) -> dict[str, object]:
    return {
        "quiet": logging.quiet,
        "strict": logging.strict,
        "timed": logging.timed,
        "hush": " >/dev/null 2>&1" if logging.quiet else "",
        "has_hooks": any((hooks.init, hooks.pre, hooks.broker_pre, hooks.worker_pre, hooks.service_pre)),
        "post": shell.quote(hooks.post) if hooks.post.strip() else "",
        "setup": list(
            filter(None, (_hook("commands.init", hooks.init), *view_lines(view), *_exports(environment)))
        ),
    }


def _hook(name: str, text: str) -> str:
    return f"hook {name} {shell.quote(text)}" if text.strip() else ""


def _exports(environment: Mapping[str, str]) -> list[str]:
    return [f"export {shell.check_name(name)}={shell.quote(value)}" for name, value in environment.items()]


def view_lines(view: FluxView) -> list[str]:
    """Return the shell lines that make Flux available; the container's own programs are first on PATH."""
    if view.disable:
        return []
    mount = shell.quote(view.mount_path)
    python = shell.quote(view.python_path) if view.python_path else ""
    return [
        f"PATH=$PATH:{mount}/view/bin:{mount}/bin",
        "export PATH",
        *([f"export PYTHONPATH=${{PYTHONPATH:+$PYTHONPATH:}}{python}"] if python else []),
    ]


def _broker_options(settings: BrokerSettings) -> list[str]:
    logging = settings.logging
    attributes = {
        "log-stderr-mode": "local",
        "log-stderr-level": "0" if logging.quiet else str(logging.level),
        "broker.quorum": str(settings.quorum or settings.size),
        "tbon.connect_timeout": settings.connect_timeout,
        "tbon.topo": settings.tree,
        "tbon.zmqdebug": "1" if logging.zeromq else "",
    }
    return [f"-S{name}={value}" for name, value in attributes.items() if value]


def _program(settings: BrokerSettings) -> list[str]:
    """Return the lines of the lead's program; the last one's exit code is the program's."""
    match settings.run_mode:
        case RunMode.INTERACTIVE:
            return []
        case RunMode.LAUNCHER:
            return [_line(settings, _launched(settings))]
        case RunMode.BATCH:
            flags = (*_flags(settings), "--output=kvs", "--error=kvs", f'"$config/{BATCH_FILE}"')
            return [f"id=$({_line(settings, 'flux batch', *flags)}) || return", 'flux job attach "$id"']
        case RunMode.PLAIN:
            *before, words = _submitted(settings)
            return [*before, *_watched(settings, words)]


def _watched(settings: BrokerSettings, words: str) -> list[str]:
    """Return lines that submit the main job and show its output until it ends.

    `flux submit --watch --label-io` also puts the job's id before each line, which is useless for one job.
    So with labels the lines attach to the job instead. Where tasks get standard input it is `flux run` that
    passes it on; options that it does not have, or that name another input, leave it at `flux submit`.
    """
    submit = _words("flux.submitCommand", settings.submit.command)
    flags = _flags(settings)
    is_plain = not (submit or settings.submit.option_flags.strip() or settings.submit.passes_input)
    if settings.submit.label_output and is_plain:
        return [
            f"id=$({_line(settings, 'flux submit', *flags, words)}) || return",
            'flux job attach --label-io "$id"',
        ]
    nothing = ""
    if settings.submit.passes_input and not submit:
        options = f"{settings.submit.option_flags} {words if words.startswith('-') else ''}"
        submit = "flux submit" if _NOT_OF_RUN.search(options) else "flux run"
        nothing = "--input=/dev/null" if submit == "flux submit" and "input" not in options else ""
    submit = submit or "flux submit"
    return [_line(settings, submit, *flags, nothing, *_watching(settings, submit), words)]


def _line(settings: BrokerSettings, *words: str) -> str:
    return " ".join(filter(None, (_words("commands.prefix", settings.hooks.prefix), *words)))


def _launched(settings: BrokerSettings) -> str:
    """Return a line that runs the command: in a shell of its own, or, for a list, without any shell."""
    if settings.hooks.script:
        return _interpreted(settings.hooks.script)
    if settings.command.args:
        return shell.join(("sh", "-c", 'exec "$@"', "sh", *settings.command.args))
    return shell.join(("sh", "-c", settings.command.line))


def _submitted(settings: BrokerSettings) -> list[str]:
    """Return the lines that must come before the submit command, then the words behind it."""
    if settings.hooks.script:
        return [_interpreted(settings.hooks.script)]
    if settings.command.args:
        return [_argument_list(settings.command.args)]
    return _job_words(settings.command.line.strip())


def _interpreted(script: str) -> str:
    """Return a line that runs the custom script by the interpreter in its first line, else bash, else sh."""
    first = script.partition("\n")[0]
    interpreter = shell.join(first[2:].split(maxsplit=1)) if first.startswith("#!") else '"$shell"'
    return f'{interpreter} "$config/{SCRIPT_FILE}"'


def _flags(settings: BrokerSettings) -> list[str]:
    """Return `-N` and `-n` by the field `tasks`, the attributes of the main job, and the user's own flags."""
    size, tasks = settings.size, settings.submit.tasks
    nodes = [f"-N{size}"] if tasks == 0 or tasks >= size else []
    return [
        *nodes,
        *([f"-n{tasks}"] if tasks else []),
        f"--setattr={MAIN_ATTRIBUTE}",
        *([f"--setattr=user.profile={settings.submit.profile}"] if settings.submit.profile else []),
        *(["-vvv"] if settings.logging.debug else []),
        _words("flux.optionFlags", settings.submit.option_flags),
    ]


def _watching(settings: BrokerSettings, submit: str) -> list[str]:
    """Return the options to show output; `flux run` shows it by itself and has no --watch."""
    watch = [] if submit.split()[:2] == ["flux", "run"] else ["--quiet", "--watch"]
    return [*watch, *(["--label-io"] if settings.submit.label_output else [])]


def _words(field: str, text: str) -> str:
    """Return `text` if it is shell words and nothing else, to be part of a command. Raises SettingsError."""
    if text.strip() and not shell.is_words(text):
        raise SettingsError(
            f"{field}: {text!r} must be plain words: quotes closed, no ; & | < > ( ) ` or line break"
        )
    return text.strip()


def _job_words(line: str) -> list[str]:
    """Return a line as the words behind `flux submit`; it may begin with options of its own.

    A simple command is expanded in this script (under eval, if an error in it could break the script).
    Anything else is run by a shell in the task.
    """
    if not shell.is_simple(line):
        return [shell.join(("sh", "-c", line))]
    if shell.substitutes(line):
        return [f"eval {shell.quote('set -- ' + line)} || exit 2", '"$@"']
    return [line]


def _argument_list(args: tuple[str, ...]) -> str:
    """Return an argument list as the words behind `flux submit`, which pass it on unchanged."""
    if shell.has_raw_bytes(args):
        return shell.join(("--", "sh", "-c", "exec " + shell.join(args)))
    return shell.join(("--", *args))


@cache
def _template(name: str) -> Template:
    # Most commands on Kubernetes load the plan, and render nothing.
    from jinja2 import Environment, PackageLoader, StrictUndefined  # noqa: PLC0415

    environment = Environment(
        loader=PackageLoader("broker_config"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        auto_reload=False,  # else each part of the script is looked for on the disk, each time
        autoescape=False,  # noqa: S701 - a shell script is no HTML: shell.quote writes its words
    )
    return environment.get_template(name)
