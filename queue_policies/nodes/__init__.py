"""The nodes of an instance: what is free on each, which jobs hold what, and where a request fits.

Pure, and the same for the embedded instance and for real Flux. `records` has what a node or a request must
have; whoever uses this room brings records of its own.
"""
