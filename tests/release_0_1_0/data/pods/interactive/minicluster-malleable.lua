-- Gives the tasks of a malleable job the file by which its program reaches the instance. The scheduler has put
-- the text into R, which the job's user alone can read; so it is with the file. Other jobs have none.
local function give ()
    local attributes = shell.info.R.attributes
    local text = attributes and attributes.user and attributes.user.malleable
    local directory = shell.getenv ("FLUX_JOB_TMPDIR")
    if not text or not directory then return end
    local path = directory .. "/malleable.json"
    local file = assert (io.open (path, "w")) -- in a directory that nobody else can enter
    file:write (text)
    file:close ()
    os.execute ("chmod 0400 '" .. path .. "'")
    shell.setenv ("MINICLUSTER_MALLEABLE", path)
end

plugin.register {
    name = "minicluster-malleable",
    handlers = { { topic = "shell.init", fn = give } }
}
