"""What the module `minicluster-sched` of release 0.1.0 runs."""

from minicluster.flux_scheduler.flux_module import mod_main

__all__ = ["mod_main"]
