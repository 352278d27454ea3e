"""Bursts go on: what is observed, what is done next, and what is written of it.

`advance` does one step of one burst. A process that is killed at any time is followed by another one that
goes on: intents are written before calls, and calls have the same effect if they are repeated.
"""
