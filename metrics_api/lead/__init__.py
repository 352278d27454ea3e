"""What the lead broker's door serves of the queue; the door loads it by name (entry point group door_routes).

`ledger` holds the jobs that are active, kept current by the job journal; `poll` asks for nodes and counts;
`sampler` is the thread that makes samples of both, which all readers of `routes` share.
"""
