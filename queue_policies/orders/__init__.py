"""The order machine: turns a policy's actions into orders to running jobs, and follows them to their end.

Pure, and the same for the embedded instance, for real Flux and for the simulator. The caller passes the time,
and carries out what it returns. `book` has the orders under way, and the jobs that start once others have
shrunk. `resizing` and `actions` are for instances, on nodes; `by_hand` is for orders of users, in place of a
policy's. `program` is about one malleable program.
"""
