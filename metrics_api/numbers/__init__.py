"""From a snapshot of the instance to its metrics: plain functions, without a clock and without I/O."""
