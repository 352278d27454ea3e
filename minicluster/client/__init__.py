"""For programs that use a MiniCluster's HTTPS service from elsewhere. Imports nothing of the service."""
