"use strict";
// The pages come from the server whole. This script takes Airflow's theme, asks for the page again every few seconds and
// puts the parts that changed in place, copies commands, and opens Airflow's own pages in Airflow's window.
const SECONDS = 5;
const framed = (() => { try { return window.parent !== window && Boolean(window.parent.document); } catch { return false; } })();

function takeTheme() {
  let found = null;
  if (framed) found = window.parent.document.documentElement.classList.contains("dark") ? "dark" : "light";
  else try { found = localStorage.getItem("theme"); } catch { /* no storage: the browser's preference holds */ }
  if (found === "dark" || found === "light") document.documentElement.dataset.theme = found;
  else delete document.documentElement.dataset.theme;
}
takeTheme();
if (framed) new MutationObserver(takeTheme).observe(window.parent.document.documentElement, { attributeFilter: ["class"] });

function warn(text) {
  const place = document.getElementById("stale");
  if (place.textContent !== text) place.textContent = text;
  place.hidden = !text;
}

let since = new Date(), newest = 0;
async function refresh() {
  const mine = ++newest;
  try {
    const answer = await fetch(location.href, { credentials: "same-origin", cache: "no-store", redirect: "manual" });
    if (mine !== newest) return;
    if (answer.status === 401 || answer.type === "opaqueredirect") return warn("You are logged out: load this page again to log in.");
    if (!answer.ok) throw new Error(`the server answers ${answer.status}`);
    put(new DOMParser().parseFromString(await answer.text(), "text/html"));
    since = new Date();
    warn("");
  } catch (error) {
    if (mine === newest) warn(`What you see is of ${since.toLocaleTimeString()}: ${error.message}.`);
  }
}

function put(page) {
  for (const part of document.querySelectorAll("[data-live]")) {
    const other = page.getElementById(part.id);
    if (!other || other.innerHTML === part.dataset.last || isInUse(part)) continue;
    const last = other.innerHTML;
    const open = new Set([...part.querySelectorAll("details[open]")].map(one => one.id));
    const focus = part.contains(document.activeElement) ? document.activeElement.id : "";
    const scrolled = [...part.querySelectorAll(".wide")].map(one => one.scrollLeft);
    part.replaceChildren(...[...other.childNodes].map(one => document.importNode(one, true)));
    part.dataset.last = last;
    for (const one of part.querySelectorAll("details")) if (open.has(one.id)) one.open = true;
    part.querySelectorAll(".wide").forEach((one, place) => { one.scrollLeft = scrolled[place] || 0; });
    if (focus) document.getElementById(focus)?.focus({ preventScroll: true });
  }
}

// A part that a person marks text in, or has reached by keyboard at a place without an id, stays as it is.
function isInUse(part) {
  const marked = document.getSelection();
  if (marked && !marked.isCollapsed && part.contains(marked.anchorNode)) return true;
  return part.contains(document.activeElement) && !document.activeElement.id;
}

async function copy(button) {
  const text = document.getElementById(button.dataset.copies).textContent;
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
  } catch {  // without HTTPS there is no clipboard: mark the text instead
    document.getSelection().selectAllChildren(document.getElementById(button.dataset.copies));
    button.textContent = "Press Ctrl+C";
  }
  setTimeout(() => { button.textContent = "Copy"; }, 3000);
}

// Airflow shows us in a frame that may not open its window's pages; a link of the window's own document may.
function openAirflow(link, event) {
  if (!framed || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  const outer = window.parent.document.createElement("a");
  outer.href = link.href;
  window.parent.document.body.append(outer);
  outer.click();
  outer.remove();
}

document.addEventListener("click", event => {
  const button = event.target.closest("[data-copies]"), link = event.target.closest("a[data-airflow]");
  if (button) copy(button);
  if (link) openAirflow(link, event);
});

let typing;
function search(form) {
  const query = new URLSearchParams([...new FormData(form)].filter(([, value]) => value));
  history.replaceState(null, "", `${location.pathname}?${query}`);
  refresh();
}
document.addEventListener("input", event => {
  const form = event.target.closest("form.search");
  if (!form) return;
  clearTimeout(typing);
  typing = setTimeout(search, 250, form);
});
document.addEventListener("submit", event => {
  if (!event.target.matches("form.search")) return;
  event.preventDefault();
  clearTimeout(typing);
  search(event.target);
});

document.addEventListener("visibilitychange", () => { if (!document.hidden) refresh(); });
setInterval(() => { if (!document.hidden) refresh(); }, SECONDS * 1000);
