"""See minicluster.flux_scheduler."""
