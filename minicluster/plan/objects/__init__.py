"""The Kubernetes objects of a MiniCluster: one builder each."""
