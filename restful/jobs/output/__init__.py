"""What jobs write, and what becomes of them, live and for many readers.

A *feed* is one stream of the instance's port, read by one thread into a ring while anybody follows. Its
*readers* take from the ring. One who is behind it reads what is stored, by a feed of its own, until it is in
the ring again. So neither a slow reader nor a job's size costs memory.
"""
