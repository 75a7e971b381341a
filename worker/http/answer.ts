import { createHash, timingSafeEqual } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { pipeline } from "node:stream/promises";
import { isDatabaseAway } from "@atelier/server/db";
import {
  AppError,
  requestIdHeader,
  isFault,
  toAppError,
  toProblem,
  underRequestId,
} from "@atelier/server/platform";
import type { Services } from "@atelier/server/services";
import {
  type Answer,
  type Call,
  createImageFromPrompt,
  type Handle,
  readHealth,
  readStatus,
  sendResult,
} from "./handlers.ts";
import type { WorkerView } from "./server.ts";

const digest = (text: string) => createHash("sha256").update(text).digest();

/** Throws `unauthorized` unless the header holds the token. Digests are compared, so that the length is not revealed. */
function checkToken(authorization: string | undefined, token: string): void {
  const [, given = ""] = /^Bearer +(\S+)$/i.exec(authorization ?? "") ?? [];
  if (!timingSafeEqual(digest(given), digest(token)))
    throw new AppError("unauthorized", "Send the worker's token as a bearer token.");
}

interface Route {
  readonly method: "GET" | "POST";
  /** The first group is the id. */
  readonly path: RegExp;
  readonly handle: Handle;
}

const routes: readonly Route[] = [
  { method: "POST", path: /^\/CreateImageFromPrompt$/, handle: createImageFromPrompt },
  { method: "GET", path: /^\/status\/([^/]+)$/, handle: readStatus },
  { method: "GET", path: /^\/result\/([^/]+)$/, handle: sendResult },
  { method: "GET", path: /^\/health$/, handle: readHealth },
];

export interface Asked {
  readonly services: Services;
  readonly token: string;
  readonly worker: WorkerView | null;
}

/** Answers one request under its id, errors as a problem document. Never throws. */
export function answerRequest(
  asked: Asked,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { [requestIdHeader.toLowerCase()]: header } = request.headers;
  return underRequestId({ id: typeof header === "string" ? header : null }, (requestId) => {
    response.setHeader(requestIdHeader, requestId);
    return answer(asked, request, response);
  });
}

async function answer(asked: Asked, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { log } = asked.services;
  const startedMs = performance.now();
  // Null for a request target that is no valid path; no route matches then.
  const url = URL.parse(request.url ?? "", "http://worker");
  try {
    const found = await answerOf(asked, request, url).catch((error: unknown) => refuse(asked, error));
    await send(response, found);
  } catch (error) {
    // The client left or reading the picture failed: a cut connection shows that the body is incomplete.
    log.debug({ err: error }, "answer not sent in full");
    response.destroy();
  }
  const { method } = request;
  const durationMs = Math.round(performance.now() - startedMs);
  log.info({ method, path: url?.pathname, status: response.statusCode, durationMs }, "worker http request");
}

async function answerOf(
  { services, token, worker }: Asked,
  request: IncomingMessage,
  url: URL | null,
): Promise<Answer> {
  checkToken(request.headers.authorization, token);
  for (const { method, path, handle } of routes) {
    const match = method === request.method && path.exec(url?.pathname ?? "");
    if (!match || !url) continue;
    const call: Call = { services, worker, request, id: match[1] ?? "", query: url.searchParams };
    return handle(call);
  }
  throw new AppError("not_found");
}

function refuse({ services }: Asked, thrown: unknown): Answer {
  const error = isDatabaseAway(thrown)
    ? new AppError("database_unavailable", undefined, { cause: thrown })
    : toAppError(thrown);
  if (isFault(error.code))
    services.log.error({ code: error.code, err: error.cause ?? error }, "worker http request failed");
  const { status, headers, body } = toProblem(error);
  const challenge: Readonly<Record<string, string>> = status === 401 ? { "www-authenticate": "Bearer" } : {};
  return { status, headers: { ...headers, ...challenge }, json: body };
}

async function send(response: ServerResponse, answer: Answer): Promise<void> {
  if ("stream" in answer) {
    response.writeHead(answer.status, answer.headers);
    await pipeline(answer.stream, response);
    await answer.onSent();
    return;
  }
  const text = JSON.stringify(answer.json);
  response.writeHead(answer.status, {
    "content-type": "application/json",
    "content-length": Buffer.byteLength(text),
    ...answer.headers,
  });
  response.end(text);
}
