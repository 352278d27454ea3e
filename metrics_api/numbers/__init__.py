"""Computes metrics from a snapshot of the instance: plain functions, without a clock and without I/O."""
