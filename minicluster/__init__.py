"""MiniCluster manager: run HPC workloads with Flux on Kubernetes, or on this machine.

Importing this package imports nothing else; each room is imported by name.
"""

__version__ = "0.1.0"
