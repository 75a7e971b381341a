/** Colours of the studio, light first, dark second; `light-dark()` follows the class that the viewer sets on the body. */
export const studioColours = `
:root { color-scheme: light dark; --docs-header: 56px; }
:root[data-theme="light"] { color-scheme: light; }
:root[data-theme="dark"] { color-scheme: dark; }
:root, html .light-mode, html .dark-mode {
  --paper: light-dark(oklch(0.985 0.004 85), oklch(0.165 0.006 60));
  --surface: light-dark(oklch(1 0 0), oklch(0.205 0.007 60));
  --raised: light-dark(oklch(1 0 0), oklch(0.245 0.008 60));
  --well: light-dark(oklch(0.962 0.005 80), oklch(0.205 0.007 60));
  --hover: light-dark(oklch(0.945 0.006 80), oklch(0.265 0.008 60));
  --ink: light-dark(oklch(0.23 0.012 60), oklch(0.94 0.006 80));
  --quiet: light-dark(oklch(0.48 0.012 60), oklch(0.7 0.01 75));
  --line: light-dark(oklch(0.9 0.006 80), oklch(0.29 0.008 60));
  --edge: light-dark(oklch(0.62 0.012 70), oklch(0.53 0.012 70));
  --accent: light-dark(oklch(0.55 0.19 33), oklch(0.7 0.17 38));
  --on-accent: light-dark(oklch(1 0 0), oklch(0.17 0.02 40));
  --ok: light-dark(oklch(0.47 0.11 155), oklch(0.76 0.13 155));
  --warn: light-dark(oklch(0.48 0.11 70), oklch(0.8 0.12 80));
  --fail: light-dark(oklch(0.48 0.17 15), oklch(0.76 0.13 15));
  --info: light-dark(oklch(0.47 0.11 245), oklch(0.76 0.1 240));
  --violet: light-dark(oklch(0.46 0.13 305), oklch(0.78 0.1 305));
}
html .light-mode, html .dark-mode {
  --scalar-background-1: var(--paper);
  --scalar-background-2: var(--well);
  --scalar-background-3: var(--hover);
  --scalar-background-4: var(--hover);
  --scalar-background-card: var(--surface);
  --scalar-background-accent: var(--hover);
  --scalar-border-color: var(--line);
  --scalar-color-1: var(--ink);
  --scalar-color-2: var(--quiet);
  --scalar-color-3: var(--quiet);
  --scalar-color-accent: var(--ink);
  --scalar-color-green: var(--ok);
  --scalar-color-orange: var(--warn);
  --scalar-color-yellow: var(--warn);
  --scalar-color-red: var(--fail);
  --scalar-color-danger: var(--fail);
  --scalar-color-blue: var(--info);
  --scalar-color-purple: var(--violet);
  --scalar-color-query: var(--violet);
  --scalar-link-color: var(--ink);
  --scalar-link-color-hover: var(--ink);
  --scalar-button-1: var(--ink);
  --scalar-button-1-hover: var(--quiet);
  --scalar-button-1-color: var(--paper);
  --scalar-sidebar-background-1: var(--paper);
  --scalar-sidebar-color-1: var(--ink);
  --scalar-sidebar-color-2: var(--quiet);
  --scalar-sidebar-color-active: var(--ink);
  --scalar-sidebar-border-color: var(--line);
  --scalar-sidebar-item-hover-background: var(--hover);
  --scalar-sidebar-item-hover-color: var(--ink);
  --scalar-sidebar-item-active-background: var(--hover);
  --scalar-sidebar-search-background: var(--surface);
  --scalar-sidebar-search-border-color: var(--line);
  --scalar-sidebar-search-color: var(--quiet);
  --scalar-font: "Inter Variable", ui-sans-serif, system-ui, sans-serif;
  --scalar-font-code: ui-monospace, "SF Mono", Menlo, Consolas, "Liberation Mono", monospace;
  --scalar-radius: 6px;
  --scalar-radius-lg: 6px;
  --scalar-radius-xl: 10px;
  --scalar-custom-header-height: var(--docs-header);
}`;

/** The bar above the viewer, and the ground while the viewer loads. */
const frame = `
html { background: var(--paper); color: var(--ink); scroll-padding-top: var(--docs-header); }
body { margin: 0; font-family: "Inter Variable", ui-sans-serif, system-ui, sans-serif; }
.studio { box-sizing: border-box; position: sticky; top: 0; z-index: 20; display: flex; align-items: center;
  height: var(--docs-header); padding: 0 16px; border-bottom: 1px solid var(--line); background: var(--paper); }
.studio a { display: flex; align-items: center; gap: 10px; padding: 4px 8px; border-radius: 6px; color: var(--ink);
  font: 20px/1 Fraunces, ui-serif, Georgia, serif; letter-spacing: -0.015em; text-decoration: none; }
.studio a:hover { background: var(--hover); }
.studio svg { width: 24px; height: 24px; }
.studio a:focus-visible { outline: 2px solid var(--ink); outline-offset: 2px; }
#viewer { overflow-x: clip; }
noscript { display: block; padding: 24px; }`;

/** Where the viewer misses the look of the studio, a contrast of 4.5:1 or a target of 24 px. */
const repairs = `
html .scalar-app :focus-visible { outline: 2px solid var(--ink); outline-offset: 2px; }
html .scalar-app section:focus-visible { outline: none; }
html .scalar-app h1.section-header-label { margin-top: 8px; font: 40px/46px Fraunces, ui-serif, Georgia, serif;
  letter-spacing: -0.015em; }
html .scalar-app .section { padding-block: 48px; }
html .scalar-app .request-card-footer:not(:has(button)) { display: none; }
html .scalar-app .scalar-card-content:has(+ .request-card-footer:not(:has(button))) { border-radius: 0 0 9px 9px; }
html .scalar-app button:has(.sidebar-search-placeholder) > span:has(kbd) { display: none; }
html .scalar-app aside button[aria-expanded] { min-width: 24px; min-height: 24px; }
html .scalar-app .client-libraries__select { min-width: fit-content; min-height: 32px; }
html .scalar-app .client-libraries__select .client-libraries-text.client-libraries-text-more { display: inline; }
html .scalar-app .whitespace-nowrap.flex-1.text-sm { min-width: 0; overflow: hidden; text-overflow: ellipsis; }
`;

export const docsStyle = [studioColours, frame, repairs].join("\n");
