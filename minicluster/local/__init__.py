"""Clusters on this machine: the plan's pods as processes."""
