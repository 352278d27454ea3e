"""Saves an instance without losing jobs. The start script and the lead server run this beside the broker.

`quiesce` stops the queues, waits for running jobs and has `restarts` copy those that do not finish. The
broker writes the dump when it ends; `dumps` checks it and makes it durable. `hold` is for the start after a
restore. The start script, these modules and the lead server share their state through `state_files`.
"""
