"""`flux broker`: one process of an instance, lead (rank 0) or follower.

`flux broker [-c PATH] [-Sattr=value]… [program…]`. The lead runs the program once its quorum joined, and ends
with the program's exit code. A follower ends with 0 when the lead ended the instance, or after SIGTERM. It
ends with 1 when it was refused, when it lost its lead, and when a signal ended the lead.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import os
import sys
from typing import TYPE_CHECKING

from minicluster.embedded import configuration
from minicluster.embedded.broker import boot
from minicluster.embedded.broker.attributes import Attributes
from minicluster.embedded.broker.options import USAGE, Options
from minicluster.embedded.errors import ConfigurationError, EmbeddedError
from minicluster.embedded.log import CRIT, ERR, Log

if TYPE_CHECKING:
    from collections.abc import Sequence

    from minicluster.embedded.broker.follower import FollowerProcess
    from minicluster.embedded.broker.lead import LeadProcess
    from minicluster.embedded.ports import JSON


def main(argv: Sequence[str]) -> int:
    """Run `flux broker` and return its exit code."""
    if argv[:1] in (["-h"], ["--help"]):
        print(USAGE)
        return 0
    log = Log(os.uname().nodename)
    try:
        options = Options(argv)
        attributes = Attributes(options.settings)
    except ConfigurationError as error:
        print(f"broker: {error}", file=sys.stderr)
        return 1
    try:
        return _run(options, attributes, log)
    except (EmbeddedError, OSError) as error:
        log(CRIT if isinstance(error, ConfigurationError) else ERR, str(error))
        return 1
    except KeyboardInterrupt:
        return 130


def _run(options: Options, attributes: Attributes, log: Log) -> int:
    level = attributes.get("log-stderr-level") or "3"
    if not level.isdigit() or not 0 <= int(level) <= 7:
        raise ConfigurationError(
            f"log-stderr-level: {level!r} is no level; right would be 0 (emerg) to 7 (debug)"
        )
    log.level = int(level)
    hostname = attributes.get("hostname") or os.uname().nodename
    log.name = hostname
    config = configuration.load(options.config)
    position = boot.find(config, hostname, os.environ)
    log.name = str(position.boot.rank)
    return asyncio.run(_live(options, config, attributes, log, position))


async def _live(
    options: Options, config: JSON, attributes: Attributes, log: Log, position: boot.BrokerPosition
) -> int:
    broker = _process(position)
    gc.freeze()  # modules stay: no collection needs to traverse them
    return await broker(options, config, attributes, log, position).run()


def _process(position: boot.BrokerPosition) -> type[LeadProcess | FollowerProcess]:
    if position.boot.rank:
        from minicluster.embedded.broker.follower import FollowerProcess  # noqa: PLC0415 - each loads its own

        return FollowerProcess
    from minicluster.embedded.broker.lead import LeadProcess  # noqa: PLC0415 - followers never load the engine

    return LeadProcess


if __name__ == "__main__":
    with contextlib.suppress(BrokenPipeError):
        sys.exit(main(sys.argv[1:]))
