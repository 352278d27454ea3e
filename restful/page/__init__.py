"""The page for browsers: log in, approve devices, submit jobs, read their output. It needs no script."""
