"""Scheduling policies: a queue and a cluster go in, actions come out. Pure: no I/O, no clock.

`records` has what a policy reads and returns, `policy` the protocol. An engine keeps its jobs in `queue` and
`running`, and asks a policy through `decision`. `plugins` finds policies, ours and those of plug-ins. Each
policy is one file. They share `settings`, `walk`, `draft`, `resizing`, `gain`, `learning` and `counting`.
`simulator` runs them in virtual time.
"""
