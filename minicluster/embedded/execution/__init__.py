"""The processes of jobs on every rank: start, output, PMI and their end."""
