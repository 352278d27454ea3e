"""The queue's routes at the lead API, which loads them by an entry point of the group door_routes.

`ledger` has the active jobs, from the job journal. `poll` reads nodes and counts. `sampler` is the thread
that makes samples of both, which all readers of `routes` share.
"""
