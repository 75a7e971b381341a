/** Style of the readable API page; light and dark by the reader's setting. */
export const docsStyle = `
:root { color-scheme: light dark; --line: light-dark(#e4dfd8, #3a3733); --soft: light-dark(#f6f3ee, #24221f);
  --text: light-dark(#26221d, #ece8e1); --muted: light-dark(#6a6258, #a89f92); --accent: light-dark(#9a3f1d, #f0a27f); }
* { box-sizing: border-box; }
body { margin: 0; display: grid; grid-template-columns: 17rem minmax(0, 1fr); color: var(--text);
  background: light-dark(#fdfcfa, #1a1917); font: 16px/1.55 system-ui, sans-serif; }
nav { position: sticky; top: 0; height: 100vh; overflow: auto; padding: 1.5rem; border-right: 1px solid var(--line); }
nav h2 { margin: 1.25rem 0 0.25rem; font-size: 0.8rem; letter-spacing: 0.04em; text-transform: capitalize; color: var(--muted); }
nav ul { margin: 0; padding: 0; list-style: none; }
nav li { padding: 0.15rem 0; font-size: 0.92rem; }
a { color: var(--accent); }
nav a { color: inherit; text-decoration: none; }
nav a:hover { text-decoration: underline; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
main { max-width: 54rem; padding: 2rem clamp(1rem, 4vw, 3rem) 6rem; }
h1 { margin-top: 0; }
main > h2 { margin-top: 3rem; text-transform: capitalize; }
article { margin: 1rem 0; padding: 1.25rem; border: 1px solid var(--line); border-radius: 12px; scroll-margin-top: 1rem; }
h3 { margin: 0; font-size: 1rem; overflow-wrap: anywhere; }
.method { display: inline-block; min-width: 4.2em; font: 600 0.8rem/1.6 ui-monospace, monospace; color: var(--accent); }
.muted { color: var(--muted); }
code, pre { font-family: ui-monospace, monospace; font-size: 0.88em; }
pre { overflow: auto; max-height: 30rem; padding: 1rem; border-radius: 8px; background: var(--soft); }
table { width: 100%; border-collapse: collapse; margin: 0.75rem 0; font-size: 0.92rem; }
th, td { padding: 0.4rem 0.5rem; border-bottom: 1px solid var(--line); text-align: left; vertical-align: top; }
summary { cursor: pointer; padding: 0.35rem 0; }
@media (max-width: 50rem) { body { display: block; } nav { position: static; height: auto; border-right: 0; border-bottom: 1px solid var(--line); } }
`;
