"""A client of the Kubernetes API: access, requests, watches and `exec`.

It knows nothing of MiniClusters. Whatever of this project talks to an API server does so through this room
(`minicluster.within` apart: it runs in users' pods with nothing installed).
"""
