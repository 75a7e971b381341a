import { z } from "zod";
import type { Config } from "../../platform/index.ts";
import { type HttpRoute, problemSchema, type RouteResponse } from "./route.ts";

type Json = Record<string, unknown>;
type Limits = Pick<Config["limits"], "apiKeyPerMinute">;

/** An OpenAPI 3.1 document, as far as it is made and read here. */
export interface OpenApiDocument {
  readonly openapi: string;
  readonly info: { readonly title: string; readonly version: string; readonly description: string };
  readonly servers: readonly { readonly url: string }[];
  readonly tags: readonly { readonly name: string; readonly "x-displayName": string }[];
  readonly paths: Readonly<Record<string, Readonly<Record<string, OpenApiOperation>>>>;
  readonly components: Json;
  readonly security: readonly Json[];
}

interface OpenApiOperation {
  readonly operationId: string;
  readonly summary: string;
  readonly description?: string;
  readonly tags: readonly string[];
  readonly parameters?: readonly OpenApiParameter[];
  readonly requestBody?: { readonly required: true; readonly content: Readonly<Record<string, Json>> };
  readonly responses: Readonly<Record<string, Json>>;
}

interface OpenApiParameter {
  readonly name: string;
  readonly in: "path" | "query" | "header";
  readonly required: boolean;
  readonly schema: Json;
}

/** The description of the HTTP API, made from the table of routes and the schemas that parse the requests. */
export function openApiDocument(routes: readonly HttpRoute[], limits: Limits): OpenApiDocument {
  return {
    openapi: "3.1.0",
    info: { title: "Atelier HTTP API", version: "1", description: describe(limits) },
    servers: [{ url: "/api/v1" }],
    tags: [...new Set(routes.map((route) => route.tag))].map((name) => ({
      name,
      "x-displayName": capitalize(name),
    })),
    paths: pathsOf(routes),
    components: { ...components, schemas: { Problem: schemaOf(problemSchema, "output") } },
    security: [{ apiKey: [] }, { session: [] }],
  };
}

const describe = (
  limits: Limits,
) => `Upload pictures, submit jobs and fetch results. Send an API key as \`Authorization: Bearer <key>\`; keys are
made under Settings. A key may send ${limits.apiKeyPerMinute} requests a minute. Errors are problems (RFC 9457) whose
\`code\` is stable. Another's picture or job is answered like one that does not exist.`;

const components = {
  securitySchemes: {
    apiKey: { type: "http", scheme: "bearer", description: "An API key of an account" },
    session: {
      type: "apiKey",
      in: "cookie",
      name: "atelier.session_token",
      description: "The session of the browser; writes must come from the same origin",
    },
  },
  responses: {
    Problem: {
      description: "What went wrong",
      content: { "application/problem+json": { schema: { $ref: "#/components/schemas/Problem" } } },
    },
  },
};

function pathsOf(routes: readonly HttpRoute[]): OpenApiDocument["paths"] {
  const paths: Record<string, Record<string, OpenApiOperation>> = {};
  for (const route of routes)
    paths[route.path] = { ...paths[route.path], [route.method]: operationOf(route) };
  return paths;
}

function operationOf(route: HttpRoute): OpenApiOperation {
  const parameters = [
    ...parametersOf(route.params, "path"),
    ...parametersOf(route.query, "query"),
    ...parametersOf(route.headers, "header"),
  ];
  const requestBody = requestBodyOf(route);
  return {
    operationId: route.operationId,
    summary: route.summary,
    ...(route.description ? { description: route.description } : {}),
    tags: [route.tag],
    ...(parameters.length > 0 ? { parameters } : {}),
    ...(requestBody ? { requestBody } : {}),
    responses: responsesOf(route),
  };
}

function parametersOf(schema: z.ZodObject | undefined, place: OpenApiParameter["in"]): OpenApiParameter[] {
  if (!schema) return [];
  const { properties = {}, required = [] } = schemaOf(schema, "input") as {
    properties?: Record<string, Json>;
    required?: string[];
  };
  return Object.entries(properties).map(([name, property]) => ({
    name,
    in: place,
    required: place === "path" || required.includes(name),
    schema: property,
  }));
}

function requestBodyOf(route: HttpRoute): OpenApiOperation["requestBody"] {
  if (route.body)
    return {
      required: true,
      content: { "application/json": { schema: schemaOf(route.bodyDescription ?? route.body, "input") } },
    };
  if (route.multipart)
    return { required: true, content: { "multipart/form-data": { schema: route.multipart } } };
  return undefined;
}

function responsesOf(route: HttpRoute): Record<string, Json> {
  const good = Object.entries(route.responses).map(([status, response]) => [status, responseOf(response)]);
  const bad = ["401", ...(route.resource ? ["404"] : []), "429", "default"];
  return Object.fromEntries([...good, ...bad.map((status) => [status, problem])]);
}

const problem = { $ref: "#/components/responses/Problem" };

function responseOf({ description, schema, contentType }: RouteResponse): Json {
  if (schema) return { description, content: { "application/json": { schema: schemaOf(schema, "output") } } };
  return contentType ? { description, content: { [contentType]: {} } } : { description };
}

/** Zod bounds every integer by what a JavaScript number can hold, which says nothing about the API. */
function omitSafeBounds({ jsonSchema }: { readonly jsonSchema: Json }): void {
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
}

function schemaOf(schema: z.ZodType, io: "input" | "output"): Json {
  return omitDialect(z.toJSONSchema(schema, { io, unrepresentable: "any", override: omitSafeBounds }));
}

/** The dialect is named once for the whole document. */
function omitDialect(schema: Json): Json {
  return Object.fromEntries(Object.entries(schema).filter(([name]) => name !== "$schema"));
}
const capitalize = (word: string) => word.charAt(0).toUpperCase() + word.slice(1);
