"""A small Flux-compatible instance in Python, for machines without Flux."""
