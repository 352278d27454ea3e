"""Placements: onto which nodes and cores a request goes. Each is one file, without I/O, clock or randomness.

Any queue policy can be combined with any placement. `records` says what a job's tasks are like, `protocol`
what a placement is given and returns, and `plugins` finds placements.
"""
