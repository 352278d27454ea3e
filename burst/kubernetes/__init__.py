"""The service of bursts in a Kubernetes cluster: `minicluster burst-service`."""
