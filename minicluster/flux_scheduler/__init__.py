"""Our queue policies on real Flux: a scheduler module that loads any of them by its name.

`flux_module` is what Flux runs, a `flux.scheduler.Scheduler`. `resource_pool` is what its base class needs.
The rest needs no Flux:

* `choice`: which policy, with which settings
* `scheduling`: the pending and running jobs, the free resources, and one decision
* `reasons`: why a job waits
* `replies`: annotations and answers about pending jobs
* `ranks`: R as the resource module gives it

All of it runs under Flux's own Python, 3.10 or newer.

For malleable jobs, `queue_policies.orders.resizing` reserves resources for orders. `companions` has the
programs' sessions, and `companion_jobspec` the jobspecs of companions. None of these needs Flux. `flux_jobs`
sends their requests to Flux. Programs connect to `listener`; malleable.lua, a plug-in of job shells, gives
them its address.
"""
