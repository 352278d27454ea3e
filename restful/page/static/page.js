// What all pages have in common: the theme, questions before what cannot be undone, and the live list of jobs.
"use strict";

const THEMES = ["", "light", "dark"];  // "": as the system has it
const root = document.documentElement;

function stored() {
  try { return localStorage.getItem("theme") || ""; } catch { return ""; }
}

function showTheme(theme) {
  if (theme) root.dataset.theme = theme; else delete root.dataset.theme;
  const button = document.getElementById("theme");
  if (button) button.textContent = `Theme: ${theme || "auto"}`;
}

showTheme(stored());  // before the page is painted

function nextTheme() {
  const theme = THEMES[(THEMES.indexOf(root.dataset.theme || "") + 1) % THEMES.length];
  try { localStorage.setItem("theme", theme); } catch { /* it is for this page alone */ }
  showTheme(theme);
}

function unhide(folder) {
  for (const box of folder.querySelectorAll("[data-all]")) box.hidden = false;
}

document.addEventListener("DOMContentLoaded", () => {
  const button = document.getElementById("theme");
  button.hidden = false;
  button.addEventListener("click", nextTheme);
  showTheme(stored());
  unhide(document);
});

document.addEventListener("submit", (event) => {
  const question = event.submitter?.dataset.confirm;
  if (question && !window.confirm(question)) event.preventDefault();
});

document.addEventListener("change", (event) => {
  const name = event.target.dataset?.all;
  if (!name) return;
  for (const box of document.getElementsByName(name)) box.checked = event.target.checked;
});

// A part that has stayed the same is not replaced: what is marked, focused or scrolled there stays.
document.addEventListener("htmx:beforeSwap", (event) => {
  const version = event.detail.target.dataset.version;
  if (version && event.detail.serverResponse.includes(`data-version="${version}"`)) event.detail.shouldSwap = false;
});
document.addEventListener("htmx:afterSwap", () => unhide(document));

// A stream is open while its page is seen, and at no other time.
document.addEventListener("visibilitychange", () => {
  const live = document.querySelector("[sse-connect]");
  if (!live) return;
  // The extension ends the stream with its element, and opens one where an element is processed.
  htmx.trigger(live, document.hidden ? "htmx:beforeCleanupElement" : "htmx:afterProcessNode");
});

let source = null;
document.addEventListener("htmx:sseOpen", (event) => {
  if (source !== event.detail.source) source?.close();  // the extension may have opened one more meanwhile
  source = event.detail.source;
  if (document.hidden) source.close();
});

function showConnection(word) {
  const shown = document.getElementById("connection");
  if (shown) shown.textContent = shown.dataset[word];
}
document.addEventListener("htmx:sseOpen", () => showConnection("open"));
document.addEventListener("htmx:sseError", () => { if (!document.hidden) showConnection("lost"); });
