"""The lead's side of tunnels: for each burst a process of its own on this machine, beside the service.

`records` is what its directory has, `reach` the process, `connections` what passes through it, `processes`
how a service starts, finds and ends it.
"""
