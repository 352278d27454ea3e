"""See minicluster.lead_server."""
