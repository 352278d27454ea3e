"""Our queue policies on real Flux: a scheduler module that loads any of them by its name.

`flux_module` is what Flux runs, a `flux.scheduler.Scheduler`; `resource_pool` is what its base class needs.
The rest needs no Flux: `choice` (which policy, with which settings), `scheduling` (what waits, runs and is
free, and one decision), `reasons` (why a job waits), `answers` (how that is told), `ranks` (R as the resource
module gives it). All of it runs under Flux's own Python, 3.10 or newer.

Malleable jobs: `embedded.resizing` holds resources for orders, `companions` has the programs' sessions and
what follows from them, `companion_jobspec` is what companions are submitted with; none of these needs Flux.
`flux_jobs` asks Flux for them, `listener` is where programs connect; malleable.lua, a plugin of job shells,
tells them where.
"""
