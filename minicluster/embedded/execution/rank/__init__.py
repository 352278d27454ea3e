"""A rank's side of running jobs: processes, their output and input, and PMI."""
