"""Pages for browsers: jobs with their output, logins, devices, tokens.

What is not live works without scripts.
"""
