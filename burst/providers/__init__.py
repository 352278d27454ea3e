"""Where the machines of bursts come from. `provider` is the interface, each other file a provider.

A provider knows nothing of jobs, queues, budgets and brokers: it makes resources, lists and deletes them.
"""
