import type { IncomingMessage, ServerResponse } from "node:http";
import { setTimeout as sleep } from "node:timers/promises";
import type { Comfy } from "../server/comfy.ts";
import { answerCall, innerPath } from "./answer-call.ts";
import { proxyPage, type Answer } from "./answer.ts";
import { readBody, type Call } from "./call.ts";

/** Answers one request, or does what a fault wants instead. */
export async function serveRequest(
  comfy: Comfy,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const url = new URL(request.url ?? "/", "http://simulator");
  const path = innerPath(url.pathname, comfy.options.basePath);
  if (path === null) return send(response, proxyPage(404));
  if (!isAllowed(comfy, request)) return send(response, proxyPage(401));
  const method = request.method ?? "GET";
  const call: Call = {
    comfy,
    method,
    path,
    isBelowApi: url.pathname.startsWith(`${comfy.options.basePath}/api/`),
    params: [],
    query: url.searchParams,
    headers: request.headers,
    readBody: () => readBody(request),
  };
  if (path.startsWith("/sim/")) return send(response, await answerCall(call));
  count(comfy, `${method} ${path}`);
  await serveWithFaults(call, request, response);
}

async function serveWithFaults(call: Call, request: IncomingMessage, response: ServerResponse) {
  const { faults } = call.comfy;
  const name = `${call.method} ${call.path}`;
  const fits = ({ path }: { path?: string }) =>
    path === undefined || name.startsWith(path) || call.path.startsWith(path);
  if (faults.take("never-answers", fits)) return;
  const slow = faults.take("slow-answer", fits);
  if (slow && !slow.isDone) await sleep(slow.ms);
  const page = faults.take("html", fits);
  if (page) return refuseBody(request, response, proxyPage(page.status));
  const garbage = faults.take("garbage", fits);
  const answer = await answerCall(call);
  if (slow?.isDone) await sleep(slow.ms);
  if (faults.take("lost-answer", fits)) {
    request.socket.destroy();
    return;
  }
  send(response, garbage ? { status: 200, body: "\u0000 not what was asked for" } : answer);
}

/** nginx answers before it has read the body, and reads the rest away. */
function refuseBody(request: IncomingMessage, response: ServerResponse, answer: Answer): void {
  request.resume();
  send(response, answer);
}

function send(response: ServerResponse, { status, headers = {}, body }: Answer): void {
  response.writeHead(status, { ...headers, "content-length": Buffer.byteLength(body) });
  response.end(body);
}

/** Whether the request carries the credentials that the proxy wants. */
export function isAllowed({ options }: Comfy, { headers }: IncomingMessage): boolean {
  if (options.auth === null) return true;
  return headers.authorization === `Basic ${Buffer.from(options.auth).toString("base64")}`;
}

const ids = /[0-9a-f]{8}-[0-9a-f-]{27}/g;

function count({ ledger }: Comfy, name: string): void {
  const key = name.replaceAll(ids, "{id}");
  ledger.counts.requests[key] = (ledger.counts.requests[key] ?? 0) + 1;
}
