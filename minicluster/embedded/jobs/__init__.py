"""The job engine of the lead broker: states, queues, allocations and the store. It opens no socket."""
