"""Saving an instance so that no job is lost, from beside its lead: by the start script, and by the door.

`settling` stops the queues, waits for running jobs and has `restarts` copy those that do not finish; the
broker's end writes the dump; `dumps` checks it and makes it durable. `state_files` are the files through
which the start script, these and the door tell each other how it stands; `resuming` is for the start after
it.
"""
