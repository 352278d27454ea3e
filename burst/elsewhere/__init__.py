"""Instances elsewhere, in which jobs run that leave their MiniCluster: submitted, followed, canceled."""
