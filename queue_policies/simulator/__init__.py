"""A discrete-event simulator that runs the same policies as the embedded instance and real Flux.

`job` and `speedup` say what is to be done, `cost` what resizing takes, `cluster` counts units, `loop` moves
the virtual clock, `outcome` and `metrics` say how it went. Workloads come from `workloads`. Nothing here
knows the time of day, and all randomness comes from a seed.
"""
