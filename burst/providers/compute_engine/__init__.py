"""Bursts as instances of Compute Engine: one bulk insert a burst, which end by themselves when it should.

`settings` is what an administrator writes, `bulk_insert` the order (pure), `reports` what listings mean
(pure), `preflight` what is wrong beforehand, `provider` the calls.
"""

from burst.providers.compute_engine.kind import KIND

__all__ = ["KIND"]
