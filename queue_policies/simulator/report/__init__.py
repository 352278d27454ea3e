"""A report about some runs: one HTML file that needs no network."""

from queue_policies.simulator.report.page import write_report

__all__ = ["write_report"]
