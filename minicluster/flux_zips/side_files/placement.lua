-- Binds tasks to the CPUs of their workers, by the tables that the scheduler has put into R (flux_scheduler/binding.py).
-- The option must be set now: when shells run their plug-ins, the one that binds tasks is before this one. What a user
-- asks for with the job stays, but that `verbose` and `dry-run` alone say nothing of which cores.
shell.unsetenv ("MINICLUSTER_WORKER") -- of the task that submitted this job
local attributes = shell.info.R.attributes
local tables = attributes and attributes.user and attributes.user.placement
local rank = shell.get_rankinfo ()
local own = tables and tables[string.format ("%d", rank.broker_rank)]
if not own then return end

local workers = {} -- of each task
local in_all = 0
for _, count in ipairs (own.tasks or {}) do in_all = in_all + count end
for worker, count in ipairs (own.tasks or {}) do
    if in_all ~= rank.ntasks then -- they are counted in another way than one a slot, as with --tasks-per-node
        count = math.floor (rank.ntasks / #own.tasks) + (worker <= rank.ntasks % #own.tasks and 1 or 0)
    end
    for _ = 1, count do table.insert (workers, worker) end
end

local function option ()
    if own.floats then return "off" end
    if own.cpus then
        local sets = {}
        for _, worker in ipairs (workers) do table.insert (sets, own.cpus[worker]) end
        return "map:" .. table.concat (sets, ";")
    end
    if own.tasks and #own.tasks > 1 and #own.tasks == rank.ntasks then return "per-task" end
end

local value, asked = option (), shell.options["cpu-affinity"] or ""
if value and type (asked) == "string" and asked:gsub ("verbose,?", ""):gsub ("dry%-run,?", "") == "" then
    if asked ~= "" and asked:sub (-1) ~= "," then asked = asked .. "," end
    shell.options["cpu-affinity"] = asked .. value
end

if #workers > 0 then
    plugin.register {
        name = "minicluster-placement",
        handlers = { {
            topic = "task.init",
            fn = function ()
                local number = own.first + workers[task.info.localid + 1] - 1
                task.setenv ("MINICLUSTER_WORKER", string.format ("%d", number))
            end
        } }
    }
end
