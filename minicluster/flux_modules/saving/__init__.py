"""See minicluster.save_restore."""
