"""The command that the start script of release 0.1.0 runs."""

from minicluster.save_restore.flux_command import main

__all__ = ["main"]
