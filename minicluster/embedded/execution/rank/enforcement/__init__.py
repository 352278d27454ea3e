"""What keeps a job on a rank within its CPU quota, and measures what it uses.

`records` has the protocol. There are three ways: control groups of version 2, those of version 1, and
affinity, by which jobs have whole cores. `enforcer` takes the first that holds here.
"""
