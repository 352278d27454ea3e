"""A page about some runs: one HTML file with everything in it, for any browser, also without a network."""

from queue_policies.simulator.report.page import write_report

__all__ = ["write_report"]
