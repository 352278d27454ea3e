"""What stands before all routes: by which names a service is reached, and whom its proxies speak for."""
