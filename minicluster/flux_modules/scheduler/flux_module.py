"""The entry of the module `minicluster-sched` of release 0.1.0."""

from minicluster.flux_scheduler.flux_module import mod_main

__all__ = ["mod_main"]
