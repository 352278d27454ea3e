# Before Flux's own schedulers where broker.toml says so, and before Fluxion where it says `always`.
def setup(context):
    when = context.conf_get("minicluster.flux-scheduler")
    fluxion = "sched-fluxion-qmanager" in context.modprobe.taskdb
    if when == "always" or (when and not fluxion):
        context.set_alternative("sched", "minicluster-sched")
