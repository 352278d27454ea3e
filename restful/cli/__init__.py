"""`minicluster serve`: the service as a process."""
