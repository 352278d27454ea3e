"""Our queue policies on real Flux: a scheduler module that loads any of them by its name.

`flux_module` is what Flux runs, a `flux.scheduler.Scheduler`; `resource_pool` is what its base class needs.
The rest needs no Flux: `choice` (which policy, with which settings), `scheduling` (what waits, runs and is
free, and one decision), `reasons` (why a job waits), `answers` (how that is told), `ranks` (R as the resource
module gives it). All of it runs under Flux's own Python, 3.10 or newer.
"""
