// The last lines of a job's output. What a job writes becomes text, and never markup.
"use strict";

class OutputLines {
  static MAX_LINES = 5000;  // kept; the whole text is behind the page's links
  static MAX_LENGTH = 4096;  // characters of a line, then another one begins

  constructor(list, { tasks }) {
    this.list = list;
    this.tasks = tasks;  // whether each line shows which task wrote it
    this.dropped = 0;
    this.decoders = new Map();  // by stream and task: a character may be cut between two chunks
    this.open = new Map();  // by the same: the line that is not ended yet
  }

  get count() { return this.list.childElementCount; }

  // Takes [stream, data] as the service sends them: data has the task, and text or base64.
  append(chunks) {
    const atEnd = this.list.scrollHeight - this.list.scrollTop - this.list.clientHeight < 40;
    const added = document.createDocumentFragment();
    for (const [stream, data] of chunks) this.#append(added, stream, data);
    this.#trim(added);
    this.list.append(added);
    this.#trim(this.list);
    this.list.hidden = !this.count;
    if (atEnd) this.jump();
  }

  jump() { this.list.scrollTop = this.list.scrollHeight; }

  #append(added, stream, data) {
    const key = `${stream} ${data.task}`;
    for (const part of this.#decoded(key, data).match(/[^\n]*\n|[^\n]+/g) || []) {
      let line = this.open.get(key);
      if (!line || line.textContent.length > OutputLines.MAX_LENGTH) {
        added.append(line = document.createElement("div"));
        line.className = `line ${stream}`;
        if (this.tasks) line.dataset.task = data.task;
      }
      const text = part.replace(/\r?\n$/, "");
      line.append(text.length > OutputLines.MAX_LENGTH ? `${text.slice(0, OutputLines.MAX_LENGTH)}…` : text);
      if (part.endsWith("\n")) this.open.delete(key); else this.open.set(key, line);
    }
  }

  #decoded(key, data) {
    if (!this.decoders.has(key)) this.decoders.set(key, new TextDecoder());
    const decoder = this.decoders.get(key);
    if (data.text !== undefined) return decoder.decode() + data.text;
    return decoder.decode(Uint8Array.from(atob(data.base64), (each) => each.charCodeAt(0)), { stream: true });
  }

  #trim(list) {
    while (list.childElementCount > OutputLines.MAX_LINES) {
      for (const [key, line] of this.open) if (line === list.firstElementChild) this.open.delete(key);
      list.firstElementChild.remove();
      this.dropped += 1;
    }
  }
}
