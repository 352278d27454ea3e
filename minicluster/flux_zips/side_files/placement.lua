-- Binds tasks to the cores of their workers. The scheduler has put into R what each rank's shell is to do. The option
-- must be set now: when shells run their plug-ins, the one that binds tasks is before this one. What a user asks for
-- with the job stays, but that `verbose` and `dry-run` alone say nothing of which cores.
shell.unsetenv ("MINICLUSTER_WORKER") -- of the task that submitted this job
local attributes = shell.info.R.attributes
local tables = attributes and attributes.user and attributes.user.placement
local rank = shell.get_rankinfo ()
local own = tables and tables[string.format ("%d", rank.broker_rank)]
if not own or #own.workers ~= rank.ntasks then return end -- with --tasks-per-node there are others

local asked = shell.options["cpu-affinity"] or ""
local flags = type (asked) == "string" and asked:gsub ("verbose,?", ""):gsub ("dry%-run,?", "") == ""
if own["cpu-affinity"] and flags then
    if asked ~= "" and asked:sub (-1) ~= "," then asked = asked .. "," end
    shell.options["cpu-affinity"] = asked .. own["cpu-affinity"]
end

plugin.register {
    name = "minicluster-placement",
    handlers = { {
        topic = "task.init",
        fn = function ()
            task.setenv ("MINICLUSTER_WORKER", string.format ("%d", own.workers[task.info.localid + 1]))
        end
    } }
}
