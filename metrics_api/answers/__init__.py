"""Answers of the Kubernetes metrics APIs: what is asked for, and the bodies of values and errors. Pure.

The adapter gives them, and a lead broker for its own MiniCluster: it is packed into the zip for real Flux.
"""
