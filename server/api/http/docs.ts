import { html, raw } from "hono/html";
import type { HtmlEscapedString } from "hono/utils/html";
import type { OpenApiDocument, OpenApiOperation, OpenApiParameter } from "./openapi.ts";

/** Style of the readable API page; light and dark by the reader's setting. */
const docsStyle = `
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

/** The readable page of the HTTP API; needs no script and nothing from elsewhere. */
export function docsPage(document: OpenApiDocument): Html {
  const operations = listOperations(document);
  const withTag = (tag: string) => operations.filter(({ operation }) => operation.tags.includes(tag));
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>${document.info.title}</title>
        <link rel="icon" href="/icon.svg" type="image/svg+xml" />
        <style>
          ${raw(docsStyle)}
        </style>
      </head>
      <body>
        <nav aria-label="Operations">
          <strong>${document.info.title}</strong>
          ${document.tags.map(
            ({ name }) =>
              html`<h2>${name}</h2>
                <ul>
                  ${withTag(name).map(
                    ({ operation }) =>
                      html`<li><a href="#${operation.operationId}">${operation.summary}</a></li>`,
                  )}
                </ul>`,
          )}
        </nav>
        <main>
          <h1>${document.info.title}</h1>
          <p>${document.info.description}</p>
          <p>
            The machine-readable description: <a href="/api/v1/openapi.json">openapi.json</a> (OpenAPI
            ${document.openapi}).
          </p>
          <h2>Errors</h2>
          ${schemaBlock((document.components.schemas as Record<string, unknown>).Problem)}
          ${document.tags.map(
            ({ name }) =>
              html`<h2>${name}</h2>
                ${withTag(name).map(({ method, path, operation }) => operationBlock(method, path, operation))}`,
          )}
        </main>
      </body>
    </html>`;
}

interface Listed {
  readonly method: string;
  readonly path: string;
  readonly operation: OpenApiOperation;
}

function listOperations(document: OpenApiDocument): Listed[] {
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => ({ method, path, operation })),
  );
}

const operationBlock = (method: string, path: string, operation: OpenApiOperation): Html =>
  html`<article id="${operation.operationId}">
    <h3><span class="method ${method}">${method.toUpperCase()}</span> <code>/api/v1${path}</code></h3>
    <p>${operation.summary}</p>
    ${operation.description ? html`<p class="muted">${operation.description}</p>` : ""}
    ${parameterTable(operation.parameters ?? [])}
    ${
      operation.requestBody
        ? html`<details>
            <summary><strong>Body</strong></summary>
            ${contentBlocks(operation.requestBody.content)}
          </details>`
        : ""
    }
    ${responseBlocks(operation)}
  </article>`;

function parameterTable(parameters: readonly OpenApiParameter[]): Html {
  if (parameters.length === 0) return html``;
  return html`<table>
    <thead>
      <tr>
        <th scope="col">Name</th>
        <th scope="col">In</th>
        <th scope="col">Type</th>
        <th scope="col">Required</th>
      </tr>
    </thead>
    <tbody>
      ${parameters.map(parameterRow)}
    </tbody>
  </table>`;
}

const parameterRow = ({ name, in: place, required, schema }: OpenApiParameter): Html =>
  html`<tr>
    <td><code>${name}</code></td>
    <td>${place}</td>
    <td>${typeOf(schema)}</td>
    <td>${required ? "yes" : "no"}</td>
  </tr>`;

/** Problems have one form on all routes, so they are described once at the top. */
function responseBlocks(operation: OpenApiOperation): Html[] {
  return Object.entries(operation.responses)
    .filter(([, response]) => !("$ref" in response))
    .map(
      ([status, response]) =>
        html`<details>
          <summary><strong>${status}</strong> ${String(response.description)}</summary>
          ${contentBlocks(response.content)}
        </details>`,
    );
}

function contentBlocks(content: unknown): Html[] {
  if (typeof content !== "object" || content === null) return [];
  return Object.entries(content).map(
    ([type, media]: [string, { schema?: unknown }]) =>
      html`<p><code>${type}</code></p>
        ${media.schema ? schemaBlock(media.schema) : ""}`,
  );
}

type Html = HtmlEscapedString | Promise<HtmlEscapedString>;

const schemaBlock = (schema: unknown): Html =>
  html`<pre tabindex="0"><code>${JSON.stringify(schema, null, 2)}</code></pre>`;

function typeOf(schema: Readonly<Record<string, unknown>>): string {
  if (Array.isArray(schema.enum)) return schema.enum.map(String).join(" | ");
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  return [schema.type, schema.format].filter(Boolean).join(", ") || "any";
}
