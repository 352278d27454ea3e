"""A report on bursts, nodes and money over time: one HTML file that needs no network, or JSON."""

from burst.costs.report.page import page

__all__ = ["page"]
