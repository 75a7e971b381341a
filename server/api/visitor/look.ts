import { studioColours } from "../http/docs-style.ts";

const frame = `
:root.room { color-scheme: dark; }
* { box-sizing: border-box; }
html { background: var(--paper); color: var(--ink); -webkit-text-size-adjust: 100%; }
body { display: flex; flex-direction: column; min-height: 100dvh; margin: 0;
  font: 14px/20px "Inter Variable", ui-sans-serif, system-ui, sans-serif; }
h1 { margin: 0; font: 28px/34px Fraunces, ui-serif, Georgia, serif; letter-spacing: -0.015em;
  overflow-wrap: anywhere; text-wrap: balance; }
/* A title and labels run as their script does. */
h1, li span, figcaption span { unicode-bidi: plaintext; }
p { margin: 0; color: var(--quiet); }
a { color: inherit; text-decoration: none; }
img { display: block; max-width: 100%; }
:focus-visible { outline: 2px solid var(--ink); outline-offset: 2px; }
main { flex: 1; width: 100%; max-width: 1600px; margin: 0 auto; padding: 40px 32px; }
main > header { display: flex; flex-direction: column; gap: 6px; margin-bottom: 28px; }
footer { display: flex; justify-content: center; align-items: center; gap: 8px; padding: 16px 16px calc(20px + env(safe-area-inset-bottom));
  color: var(--quiet); font-size: 13px; }
footer svg { width: 18px; height: 18px; }
.button, button { display: inline-flex; align-items: center; justify-content: center; height: 40px; padding: 0 16px; border: 1px solid var(--edge);
  border-radius: 6px; background: var(--surface); color: var(--ink); font: inherit; font-weight: 500; white-space: nowrap; cursor: pointer; }
.button:hover { background: var(--hover); }
.ai { padding: 0 6px; border-radius: 4px; background: rgb(0 0 0 / 0.65); color: #fff; font-size: 12px; line-height: 20px; white-space: nowrap; }
.primary { border-color: transparent; background: var(--accent); color: var(--on-accent); }
@media (max-width: 640px) { main { padding: 28px 16px; } }
@media (prefers-reduced-motion: no-preference) { @view-transition { navigation: auto; } }`;

const grid = `
.grid { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 240px), 1fr)); gap: 24px 16px; margin: 0; padding: 0; list-style: none; }
.grid a { display: flex; flex-direction: column; gap: 8px; color: var(--quiet); font-size: 13px; line-height: 18px; overflow-wrap: anywhere; }
.grid a:hover { color: var(--ink); }
.grid img { width: 100%; height: auto; aspect-ratio: var(--proportion); object-fit: contain; background: var(--well); }
.grid li { position: relative; }
.grid .ai { position: absolute; top: 8px; inset-inline-end: 8px; }
.waits { aspect-ratio: var(--proportion); border: 1px dashed var(--line); }
.few { grid-template-columns: repeat(auto-fill, minmax(min(100%, 340px), 1fr)); }
@media (max-width: 640px) { .grid { grid-template-columns: repeat(2, minmax(0, 1fr)); gap: 16px 8px; } }`;

/** A picture of its own fills what the screen has; the steps lie over its sides, below it on a phone. */
const one = `
.one { display: flex; flex-direction: column; max-width: none; padding: 0; }
.one > header { flex-direction: row; align-items: center; gap: 16px; min-height: 64px; margin: 0; padding: 12px 16px; }
.one h1 { flex: 1; min-width: 0; font-size: 20px; line-height: 26px; }
.one a[rel=up] { display: flex; align-items: center; gap: 8px; min-height: 40px; color: var(--quiet); white-space: nowrap; }
.one a[rel=up]:hover { color: var(--ink); }
.one svg { width: 20px; height: 20px; }
figure { position: relative; display: flex; flex: 1; flex-direction: column; align-items: center; justify-content: center; gap: 12px; margin: 0; padding: 0 16px; }
figure img { width: auto; height: auto; max-height: calc(100dvh - 176px); }
figcaption { display: flex; flex-wrap: wrap; justify-content: center; gap: 4px 16px; min-height: 40px; align-items: center; color: var(--quiet); overflow-wrap: anywhere; }
figure .ai { position: absolute; top: 8px; inset-inline-end: 16px; }
.count { font-variant-numeric: tabular-nums; white-space: nowrap; }
.step { position: absolute; top: 50%; display: flex; align-items: center; justify-content: center; width: 44px; height: 44px; margin-top: -22px;
  border-radius: 50%; background: var(--raised); color: var(--ink); }
.step:hover { background: var(--hover); }
.previous { left: 16px; } .next { right: 16px; }
@media (max-width: 640px) {
  figure { padding: 0; }
  figcaption { position: absolute; bottom: 0; left: 72px; right: 72px; min-height: 44px; }
  figure img { max-height: calc(100dvh - 220px); }
  .step { top: auto; bottom: 0; margin: 0; }
  .one a[rel=up] span { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
  .one a[rel=up] { min-width: 40px; justify-content: center; }
}`;

const card = `
.card { flex: none; width: calc(100% - 32px); max-width: 400px; margin: auto; padding: 32px; border: 1px solid var(--line); border-radius: 10px; background: var(--surface); }
.card p { margin-top: 8px; }
form { display: flex; flex-direction: column; margin-top: 20px; }
label { margin-bottom: 6px; font-size: 13px; font-weight: 500; }
input { height: 44px; padding: 0 12px; border: 1px solid var(--edge); border-radius: 6px; background: var(--surface); color: var(--ink); font: inherit; font-size: 16px; }
#wrong { color: var(--fail); font-size: 13px; }
form button { margin-top: 16px; height: 44px; }`;

export const visitorStyle = [studioColours, frame, grid, one, card].join("\n");

/**
 * Arrows, Esc and swipes follow the links of the page; a page that still fills is read again, and one that was fetched ahead
 * asks again when it is shown, which is its visit. All of it works without.
 */
export const visitorScript = `
const to = (rel) => document.querySelector("a[rel=" + rel + "]");
const go = (rel) => { const link = to(rel); if (link) location.replace(link.href); return link; };
const tiles = () => [...document.querySelectorAll(".grid a")];
const move = (by) => { const all = tiles(); const at = all.indexOf(document.activeElement);
  const next = all[at === -1 ? 0 : at + by]; next?.focus(); return next; };
const keys = { ArrowLeft: () => go("prev") ?? move(-1), ArrowRight: () => go("next") ?? move(1), Escape: () => go("up") };
addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target instanceof HTMLInputElement) return;
  if (keys[event.key]?.()) event.preventDefault();
});
document.addEventListener("click", (event) => {
  const link = event.target.closest("a[rel=prev], a[rel=next], a[rel=up]");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  location.replace(link.href);
});
let from = null;
addEventListener("touchstart", ({ touches }) => { from = touches.length === 1 ? touches[0] : null; }, { passive: true });
addEventListener("touchend", ({ changedTouches: [end] }) => {
  if (!from || visualViewport.scale > 1) return;
  const [x, y] = [end.clientX - from.clientX, end.clientY - from.clientY];
  if (Math.abs(x) > 56 && Math.abs(y) < Math.abs(x)) go(x < 0 ? "next" : "prev");
});
async function look() {
  const answer = await fetch(location.pathname + "?again", { cache: "no-store" }).catch(() => null);
  if (!answer || answer.status === 429 || answer.status >= 500) return;
  const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").querySelector("main");
  const main = document.querySelector("main");
  if (!fresh || fresh.innerHTML === main.innerHTML) return;
  const held = main.contains(document.activeElement) ? document.activeElement.getAttribute("href") : null;
  main.replaceWith(fresh);
  if (held) fresh.querySelector("a[href='" + held + "']")?.focus();
}
const { dataset } = document.documentElement;
function arrive() {
  if (dataset.ahead === undefined || document.hidden) return;
  delete dataset.ahead;
  void fetch(location.pathname, { cache: "no-store" }).catch(() => null);
}
document.addEventListener("visibilitychange", arrive);
arrive();
setInterval(() => { if (document.querySelector("[data-open]") && !document.hidden) look().catch(() => null); }, 5000);`;
