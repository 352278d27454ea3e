"""Workloads by name: generators of published ones, statistical ones, and readers of files.

A generator is a function of a seed and its settings. The constants of the papers are here, never in a policy.
"""
