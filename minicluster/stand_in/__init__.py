"""What stands in here for a job that runs in an instance of its own elsewhere.

`spool` is a folder beside the lead for each of them. The burst service writes into it, by the `topics`, what
the job there prints, its results, and how it ended. `program` is what the stand-in runs: it reads the
folder, prints, writes the `results`, and ends as the job did. It needs no credentials, and asks nobody.
"""
