"""The nodes of an instance: what is free on each, which jobs hold what, and where a request fits.

Pure, and the same for the embedded instance and for real Flux. `records` has the protocols of nodes and
requests; each engine has its own records that implement them.
"""
