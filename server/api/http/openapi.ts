import { z } from "zod";
import { sessionCookieOf } from "../../cookie-names.ts";
import type { Config } from "../../platform/index.ts";
import { type HttpRoute, problemSchema, type RouteResponse } from "./route.ts";

type Json = Record<string, unknown>;

interface Installation {
  readonly limits: Pick<Config["limits"], "apiKeyPerMinute">;
  /** Origin of the studio, as it stands in examples. */
  readonly origin: string;
}

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
  readonly requestBody?: { readonly required: boolean; readonly content: Readonly<Record<string, Json>> };
  readonly responses: Readonly<Record<string, Json>>;
  readonly "x-codeSamples"?: ReturnType<NonNullable<HttpRoute["samples"]>>;
}

interface OpenApiParameter {
  readonly name: string;
  readonly in: "path" | "query" | "header";
  readonly required: boolean;
  readonly schema: Json;
}

const basePath = "/api/v1";

/** The description of the HTTP API, made from the table of routes and the schemas that parse the requests. */
export function openApiDocument(routes: readonly HttpRoute[], installation: Installation): OpenApiDocument {
  return {
    openapi: "3.1.0",
    info: { title: "Atelier HTTP API", version: "1", description: describe(installation) },
    servers: [{ url: basePath }],
    tags: [...new Set(routes.map((route) => route.tag))].map((name) => ({
      name,
      "x-displayName": capitalize(name),
    })),
    paths: pathsOf(routes, installation),
    components: {
      ...components,
      securitySchemes: securitySchemesOf(installation),
      schemas: { Problem: schemaOf(problemSchema, "output") },
    },
    security: [{ apiKey: [] }, { session: [] }],
  };
}

const describe = ({
  limits,
}: Installation) => `Upload pictures, submit jobs and fetch results. Send an API key as \`Authorization: Bearer <key>\`; keys are
made under Settings. All keys of a user together may send ${limits.apiKeyPerMinute} requests a minute, half of which are divided equally among those in use. Errors are problems (RFC 9457) whose
\`code\` is stable. Pictures and jobs of other accounts answer 404. Each answer has an \`X-Request-Id\`, which the log, problems
and jobs name as well; an id of your own (up to 128 letters, digits and \`._:@/+=-\`) in the request is taken over. The routes of
IOPaint, which are served here as well, are described in docs/clients.md.`;

function problem(description: string): Json {
  return {
    description,
    content: { "application/problem+json": { schema: { $ref: "#/components/schemas/Problem" } } },
  };
}

const securitySchemesOf = ({ origin }: Installation) => ({
  apiKey: {
    type: "http",
    scheme: "bearer",
    description:
      "An API key of an account. Of its rights `read` is for GET, `create` for all other methods, `spend` for what costs money, `metrics` (of an admin) for `/scaling`; a request without the right is 403.",
  },
  session: {
    type: "apiKey",
    in: "cookie",
    name: sessionCookieOf(origin),
    description: "The session of the browser; writes must come from the same origin",
  },
});

const components = {
  responses: {
    Unauthorized: problem("No valid API key and no session"),
    NotFound: problem("It does not exist or belongs to another account"),
    RateLimited: problem("Too many requests; `Retry-After` names the seconds to wait"),
    Problem: problem("Any other error; its `code` says which"),
  },
};

function pathsOf(routes: readonly HttpRoute[], installation: Installation): OpenApiDocument["paths"] {
  const paths: Record<string, Record<string, OpenApiOperation>> = {};
  for (const route of routes)
    paths[route.path] = { ...paths[route.path], [route.method]: operationOf(route, installation) };
  return paths;
}

function operationOf(route: HttpRoute, { origin }: Installation): OpenApiOperation {
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
    ...(route.samples ? { "x-codeSamples": route.samples(`${origin}${basePath}${route.path}`) } : {}),
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
      required: route.isBodyOptional !== true,
      content: { "application/json": { schema: schemaOf(route.bodyDescription ?? route.body, "input") } },
    };
  if (route.multipart)
    return { required: true, content: { "multipart/form-data": { schema: route.multipart } } };
  return undefined;
}

function responsesOf(route: HttpRoute): Record<string, Json> {
  const good = Object.entries(route.responses).map(([status, response]) => [status, responseOf(response)]);
  const bad = Object.entries(problems).filter(([status]) => status !== "404" || route.resource);
  return Object.fromEntries([...good, ...bad.map(([status, name]) => [status, refer(name)])]);
}

/** The shared answer of each status. */
const problems = { 401: "Unauthorized", 404: "NotFound", 429: "RateLimited", default: "Problem" } as const;

const refer = (name: keyof typeof components.responses) => ({ $ref: `#/components/responses/${name}` });

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
