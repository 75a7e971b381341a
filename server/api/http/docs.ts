import { createHash, randomBytes } from "node:crypto";
import { readFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import type { Context, Hono } from "hono";
import { getCookie } from "hono/cookie";
import { html, raw } from "hono/html";
import { docsStyle } from "./docs-style.ts";

// Paths and not module names: a bundler would pack the files into the server.
const packages = path.join(path.dirname(fileURLToPath(import.meta.url)), "../../node_modules");
const files = {
  viewer: "@scalar/api-reference/dist/browser/standalone.js",
  inter: "@fontsource-variable/inter/files/inter-latin-wght-normal.woff2",
  fraunces: "@fontsource/fraunces/files/fraunces-latin-400-normal.woff2",
} as const;
const contentTypes: Record<string, string> = {
  ".js": "text/javascript; charset=utf-8",
  ".woff2": "font/woff2",
};

/** Languages and clients of the viewer without examples here: curl, fetch, requests and httpx remain. */
const hiddenClients =
  `c clojure csharp dart fsharp go http java julia kotlin node objc ocaml php powershell r ruby rust
  swift js/axios js/jquery js/ofetch js/xhr shell/httpie shell/wget python/aiohttp python/httpx_async python/python3`.split(
    /\s+/,
  );

const viewerSettings = {
  url: "/api/v1/openapi.json",
  theme: "none",
  authentication: { preferredSecurityScheme: "apiKey" },
  hiddenClients,
  defaultHttpClient: { targetKey: "shell", clientKey: "curl" },
  localization: {
    locale: "en",
    translations: { clientLibraries: { heading: "Examples", more: "JavaScript, Python" } },
  },
  modelsSectionLabel: "Schemas",
  documentDownloadType: "json",
  defaultOpenAllTags: true,
  hideDarkModeToggle: true,
  hideTestRequestButton: true,
  hideClientButton: true,
  showDeveloperTools: "never",
  // The viewer contacts hosts of its maker by default; everything of that kind is off.
  telemetry: false,
  withDefaultFonts: false,
  agent: { disabled: true },
  mcp: { disabled: true },
} as const;

/** The theme that the user chose in the studio; without a choice the page follows the system. */
export function themeOf(context: Context): "dark" | "light" | undefined {
  const theme = getCookie(context, "atelier-theme");
  return theme === "dark" || theme === "light" ? theme : undefined;
}

/** The viewer sets inline styles without a nonce; scripts need one, and no other host can be reached. */
function policyOf(nonce: string): string {
  return [
    "default-src 'none'",
    `script-src 'nonce-${nonce}'`,
    "style-src 'unsafe-inline'",
    "font-src 'self'",
    "img-src 'self' data: blob:",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join("; ");
}

/** JSON inside a script element; a `<` could end the element. */
function scriptJson(value: unknown): string {
  return JSON.stringify(value).replaceAll("<", String.raw`\u003c`);
}

/** Names the buttons that the viewer leaves without a name, or with one that lacks the text on them. */
const nameButtons = `
new MutationObserver(() => {
  for (const button of document.querySelectorAll(".scalar-code-copy:not([aria-label])"))
    button.ariaLabel = "Copy " + (button.querySelector("[aria-hidden] span > span")?.textContent ?? "");
  for (const picker of document.querySelectorAll("[data-testid=response-variant-picker]"))
    picker.ariaLabel = "Schema: " + picker.textContent.trim();
  for (const filter of document.querySelectorAll("input[role=combobox]:not([aria-expanded])"))
    Object.assign(filter, { ariaLabel: filter.ariaLabel ?? "Filter", ariaExpanded: "true" });
  for (const guard of document.querySelectorAll("[data-headlessui-focus-guard][aria-hidden]"))
    Object.assign(guard, { ariaLabel: "Leave the list", ariaHidden: null });
}).observe(document.body, { childList: true, characterData: true, subtree: true })`;

export const logo = html`<svg viewBox="0 0 24 24" fill="none" aria-hidden="true">
  <path
    d="M4.5 21 12 3.5 19.5 21M7.6 15.2h8.8M12 15.2V21"
    stroke="currentColor"
    stroke-width="1.7"
    stroke-linecap="square"
  />
</svg>`;

const fontFace = (family: string, address: string, weight: string) =>
  `@font-face { font-family: "${family}"; src: url(${address}) format("woff2"); font-weight: ${weight}; font-display: swap; }`;

/** The studio's fonts as CSS, for pages that are not built by Next. */
export async function studioFonts(): Promise<string> {
  const { inter, fraunces } = await readNames();
  return `${fontFace("Inter Variable", addressOf(inter), "100 900")}\n${fontFace("Fraunces", addressOf(fraunces), "400")}`;
}

const addressOf = (name: string) => `/api/v1/docs/${name}`;

interface Page {
  readonly nonce: string;
  readonly theme: "dark" | "light" | undefined;
  /** Address of the viewer's script. */
  readonly viewer: string;
  readonly fonts: string;
}

function viewerPage({ nonce, theme, viewer, fonts }: Page) {
  const settings = { ...viewerSettings, ...(theme && { forceDarkModeState: theme }) };
  return html`<!doctype html>
    <html lang="en" data-theme="${theme ?? "system"}">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>Atelier HTTP API</title>
        <link rel="icon" href="/icon.svg" type="image/svg+xml" />
        <style>
          ${raw(`${fonts}\n${docsStyle}`)}
        </style>
      </head>
      <body>
        <header class="studio"><a href="/">${logo} Atelier</a></header>
        <noscript
          >This page needs JavaScript. The API is described in
          <a href="/api/v1/openapi.json">openapi.json</a>.</noscript
        >
        <div id="viewer"></div>
        <script nonce="${nonce}" src="${viewer}"></script>
        <script nonce="${nonce}">
          ${raw(nameButtons)};
          Scalar.createApiReference("#viewer", ${raw(scriptJson(settings))});
        </script>
      </body>
    </html>`;
}

/** A part of the digest in the file name lets browsers keep a file until its next version. */
async function nameOf(file: keyof typeof files): Promise<string> {
  const bytes = await readFile(path.join(packages, files[file]));
  const digest = createHash("sha256").update(bytes).digest("hex").slice(0, 16);
  return `${file}-${digest}${path.extname(files[file])}`;
}

type Names = Readonly<Record<keyof typeof files, string>>;

let names: Promise<Names> | undefined;

function readNames(): Promise<Names> {
  names ??= Promise.all([nameOf("viewer"), nameOf("inter"), nameOf("fraunces")]).then(
    ([viewer, inter, fraunces]) => ({ viewer, inter, fraunces }),
  );
  return names;
}

async function showPage(context: Context): Promise<Response> {
  const nonce = randomBytes(16).toString("base64");
  const viewer = addressOf((await readNames()).viewer);
  context.header("content-security-policy", policyOf(nonce));
  context.header("cache-control", "private, no-store");
  return context.html(viewerPage({ nonce, theme: themeOf(context), viewer, fonts: await studioFonts() }));
}

/** Read from the disk for each request: browsers keep the file, so the server need not. */
async function sendFile(context: Context): Promise<Response> {
  const wanted = context.req.param("file");
  const known = Object.entries(await readNames()).find(([, name]) => name === wanted);
  if (!known) return context.notFound();
  const file = files[known[0] as keyof typeof files];
  return context.body(await readFile(path.join(packages, file)), 200, {
    "content-type": contentTypes[path.extname(file)] ?? "application/octet-stream",
    "cache-control": "public, max-age=31536000, immutable",
  });
}

/** The readable page of the HTTP API: @scalar/api-reference on the OpenAPI document, served from our own files. */
export function mountDocs(app: Hono): void {
  app.get("/docs", showPage);
  app.get("/docs/:file", sendFile);
}
