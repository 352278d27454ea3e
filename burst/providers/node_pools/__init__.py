"""Bursts on nodes that a cloud makes for them in a Kubernetes cluster that is there, or that is made as well.

`pools` is what a cloud brings, `settings` what an administrator writes for all of them, `provider` makes the
nodes first and then the pods on them, `access` is how the API server is reached by a cloud's credentials.
`clusters`, `cluster_provider` and `cluster_pods` are the same where each burst has a cluster of its own.
"""
