"""Limits on what reaches the service, before anything of it is understood."""
