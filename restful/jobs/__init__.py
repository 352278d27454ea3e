"""Jobs of many users on shared instances: what may be submitted, who owns what, listings and quotas."""
