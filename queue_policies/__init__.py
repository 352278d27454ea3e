"""Scheduling policies: a queue and a cluster go in, actions come out. Pure: no I/O, no clock.

`records` has what a policy sees and answers, `policy` the protocol, `queue` and `running` what whoever runs a
policy keeps, `decision` how they ask it, `plugins` the one door by which policies are found. Each policy is
one file; `settings`, `walk`, `draft`, `resizing`, `gain`, `learning` and `counting` are what they have in
common. `simulator` runs them in virtual time.
"""
