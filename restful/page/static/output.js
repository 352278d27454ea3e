// A job's output, live. An event has an id where it ends an entry of the output. What came behind the last id
// comes again after a lost connection, so it is shown once its entry is whole: no line is lost or doubled.
"use strict";

(() => {
  const RETRY_SECONDS = [1, 2, 4, 8, 15, 30];
  const STATUS_INTERVAL = 3000;
  const STATUS_DELAY = 600;  // by which the job's state may come behind its output
  const REFUSALS = {
    204: "The job has ended.",
    401: "You are logged out: load the page again to log in.",
    403: "You may not read this output any more.",
    404: "You may not read this output any more.",
    410: "The output went with the instance that ran the job.",
  };

  const element = (id) => document.getElementById(id);
  const section = element("output"), status = element("stream-status");
  const follow = element("follow"), jump = element("jump");
  const lines = new OutputLines(element("lines"), { tasks: "tasks" in section.dataset });

  let source = null;
  let lastId = "";  // as this source had it
  let position = "";  // the id of the last whole entry
  let entry = [];  // events of one that is not whole yet
  let unpainted = [];
  let failures = 0, over = false, stopped = false;

  const show = (text) => { if (status.textContent !== text) status.textContent = text; };
  const refresh = (id) => htmx.trigger(element(id), "refresh");
  const address = () => section.dataset.stream + (position && `&after=${encodeURIComponent(position)}`);
  const cut = () => (lines.dropped ? ` The last ${OutputLines.MAX_LINES} lines are shown; the links have all.` : "");

  function received(event) {
    entry.push([event.type, JSON.parse(event.data)]);
    if (event.lastEventId === lastId) return;
    position = lastId = event.lastEventId;
    if (!unpainted.length) requestAnimationFrame(paint);
    unpainted.push(...entry);
    entry = [];
  }

  function paint() {
    lines.append(unpainted);
    unpainted = [];
    if (jump.hidden && lines.count) changed();  // it runs now, if it did not before
    jump.hidden = !lines.count;
    if (source) showFollowed();
  }

  function showFollowed() {
    show((lines.count ? "Live." : "Nothing was written yet. What comes is shown here.") + cut());
  }

  function ended(event) {
    const { state, result, returncode } = JSON.parse(event.data);
    over = follow.hidden = true;
    position = event.lastEventId;
    close();
    paint();
    const code = returncode === null ? "" : `, exit code ${returncode}`;
    show(`The job has ended: ${result || state}${code}.${lines.count ? "" : " It wrote nothing."}${cut()}`);
    changed();
  }

  function changed() {
    refresh("status");
    setTimeout(() => refresh("status"), STATUS_DELAY);
  }

  function moved(event) {
    const link = document.createElement("a");
    link.textContent = JSON.parse(event.data).f58;
    link.href = section.dataset.jobs + encodeURIComponent(link.textContent);
    status.before("It was started again as ", link);
  }

  function close() {
    source?.close();
    source = null;
    entry = [];
  }

  function connect() {
    if (source || over || stopped || document.hidden) return;
    source = new EventSource(address());
    lastId = "";
    source.onopen = () => { failures = 0; entry = []; showFollowed(); };
    source.onerror = lost;
    for (const name of ["stdout", "stderr", "log"]) source.addEventListener(name, received);
    source.addEventListener("moved", moved);
    source.addEventListener("end", ended);
  }

  function lost() {
    entry = [];
    show("The connection was lost. It is tried again.");
    if (source.readyState !== EventSource.CLOSED) return;  // the browser itself connects again
    close();
    setTimeout(probe, 1000 * RETRY_SECONDS[Math.min(failures++, RETRY_SECONDS.length - 1)]);
  }

  async function probe() {  // a browser does not report why a stream did not begin
    if (source || over || stopped || document.hidden) return;
    const asked = new AbortController();
    const options = { headers: { Accept: "text/event-stream" }, signal: asked.signal };
    const answer = await fetch(address(), options).catch(() => null);  // without an answer it is tried again
    asked.abort();
    if (answer && answer.status in REFUSALS) {
      over = follow.hidden = true;
      show(REFUSALS[answer.status]);
    }
    connect();
  }

  follow.addEventListener("click", () => {
    stopped = !stopped;
    follow.textContent = stopped ? "Follow again" : "Stop following";
    if (stopped) { close(); show(`Stopped: nothing new is shown.${cut()}`); } else { connect(); }
  });
  jump.addEventListener("click", () => { lines.jump(); lines.list.focus(); });
  document.addEventListener("visibilitychange", () => { if (document.hidden) close(); else connect(); });
  document.addEventListener("htmx:afterSettle", () => {  // before it, what was swapped in takes no events
    if (element("status").dataset.state !== element("actions").dataset.state) refresh("actions");
  });
  setInterval(() => {
    if (!document.hidden && "active" in element("status").dataset) refresh("status");
  }, STATUS_INTERVAL);

  follow.hidden = false;
  show("Connecting …");
  connect();
})();
