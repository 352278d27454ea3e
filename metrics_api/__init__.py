"""Metrics of MiniClusters' queues: a lead broker serves them, and the metrics adapter passes them on."""
