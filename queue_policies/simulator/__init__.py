"""A discrete-event simulator that runs the same policies as the embedded instance and real Flux.

`job` and `speedup` describe jobs, and `cost` what resizing takes. `machine` counts units, and `loop` moves
the virtual clock. `outcome` and `metrics` have the results. `workloads` has generators and readers of
workloads. Nothing here reads the time of day, and all randomness comes from a seed.
"""
