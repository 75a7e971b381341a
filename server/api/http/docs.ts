import { html, raw } from "hono/html";
import type { HtmlEscapedString } from "hono/utils/html";
import type { OpenApiDocument, OpenApiOperation, OpenApiParameter } from "./openapi.ts";
import { docsStyle } from "./docs-style.ts";

type Html = HtmlEscapedString | Promise<HtmlEscapedString>;

const schemaBlock = (schema: unknown): Html =>
  html`<pre tabindex="0"><code>${JSON.stringify(schema, null, 2)}</code></pre>`;

function typeOf(schema: Readonly<Record<string, unknown>>): string {
  if (Array.isArray(schema.enum)) return schema.enum.map(String).join(" | ");
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  return [schema.type, schema.format].filter(Boolean).join(", ") || "any";
}

const parameterRow = ({ name, in: place, required, schema }: OpenApiParameter): Html =>
  html`<tr>
    <td><code>${name}</code></td>
    <td>${place}</td>
    <td>${typeOf(schema)}</td>
    <td>${required ? "yes" : "no"}</td>
  </tr>`;

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

function contentBlocks(content: unknown): Html[] {
  if (typeof content !== "object" || content === null) return [];
  return Object.entries(content).map(
    ([type, media]: [string, { schema?: unknown }]) =>
      html`<p><code>${type}</code></p>
        ${media.schema ? schemaBlock(media.schema) : ""}`,
  );
}

/** Problems look the same everywhere and stand once at the top. */
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
