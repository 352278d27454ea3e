"""Scheduling policies: a queue and a cluster go in, actions come out. Pure: no I/O, no clock.

`records` has what a policy sees and answers, `policy` the protocol, `queue` the indexed queue that whoever
runs a policy keeps, `plugins` the one door by which policies are found; each policy is one file.
"""
