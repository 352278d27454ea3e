"""`flux keygen`: the certificate that all brokers of an instance share."""

from __future__ import annotations

import os

from minicluster.embedded.commands.console import Parser, fail

PREFIX = "flux-{name}: "


def main(argv: list[str]) -> int:
    """Run `flux keygen [OPTIONS] [PATH]`."""
    parser = Parser("flux keygen", usage="flux keygen [OPTIONS] [PATH]")
    parser.add_argument(
        "-n", "--name", default=os.uname().nodename, help="name in the certificate (default: this host)"
    )
    parser.add_argument("path", metavar="PATH", nargs="?", help="file to write, readable by its owner only")
    options = parser.parse_args(argv[1:])
    from broker_config import curve  # noqa: PLC0415 - pyzmq is only needed to make a key pair

    try:
        text = curve.render(options.name, curve.generate())
        if options.path:
            _write(options.path, text)
    except OSError as error:
        fail(f"open {options.path}: {error.strerror}")
    except ValueError as error:
        fail(str(error))
    return 0


def _write(path: str, text: str) -> None:
    """Replace the file by a new one that no other user could open at any time."""
    made = f"{path}.{os.getpid()}"
    descriptor = os.open(made, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(descriptor, "w", encoding="utf-8") as file:  # noqa: PTH123
        file.write(text)
    os.replace(made, path)  # noqa: PTH105 - pathlib is slow to import
