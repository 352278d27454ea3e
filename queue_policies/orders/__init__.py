"""The order machine: a policy's decisions become orders to running jobs, which come to something or nothing.

Pure, and the same for the embedded instance, for real Flux and for the simulator: whoever uses it passes the
time in, and carries out what it answers. `book` has the orders under way and the jobs that start once others
have shrunk. `resizing` and `actions` are for instances, on nodes; `program` is about one malleable program.
"""
