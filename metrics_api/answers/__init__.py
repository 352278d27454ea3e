"""The Kubernetes metrics APIs: queries, and the bodies of values and errors. Pure.

The adapter uses it, and a lead broker for its own MiniCluster. So it is in the zip for real Flux.
"""
