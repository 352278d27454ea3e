"""The service on Kubernetes: finds MiniClusters, and serves each by its lead's API (decision 0052)."""
