"""A client of the Kubernetes API: access, requests, watches and `exec`.

It knows nothing of MiniClusters. Every other room that calls an API server uses this one, except
`minicluster.within`: that runs in users' pods with nothing installed.
"""
