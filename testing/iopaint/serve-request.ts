import type { IncomingMessage, ServerResponse } from "node:http";
import { json, proxyPage, type Answer } from "../comfyui/http/answer.ts";
import { readBody } from "../comfyui/http/call.ts";
import { objectOf, parseJson } from "../comfyui/json.ts";
import type { Iopaint } from "./iopaint.ts";
import { iopaintRoutes } from "./routes.ts";
import { showTrouble, Trouble } from "./trouble.ts";

/** Answers one request, or does what a fault wants instead. */
export async function serveIopaint(
  iopaint: Iopaint,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const { pathname } = new URL(request.url ?? "/", "http://simulator");
  const body = objectOf(parseJson((await readBody(request)).toString()));
  const name = `${request.method} ${pathname}`;
  const page = pathname.startsWith("/sim/") ? null : iopaint.faults.take("html");
  if (page) return send(response, proxyPage(page.status ?? 502));
  const answer = await answerRoute(iopaint, name, body);
  if (name.startsWith("POST /api/")) {
    if (iopaint.faults.take("lost-answer")) return void request.socket.destroy();
    if (iopaint.faults.take("garbage")) return send(response, { ...answer, body: "not a picture" });
  }
  send(response, answer);
}

async function answerRoute(iopaint: Iopaint, name: string, body: Record<string, unknown>): Promise<Answer> {
  const route = iopaintRoutes.get(name);
  if (!route) {
    const [, path = ""] = name.split(" ");
    const isKnown = [...iopaintRoutes.keys()].some((key) => key.endsWith(` ${path}`));
    return json({ detail: isKnown ? "Method Not Allowed" : "Not Found" }, isKnown ? 405 : 404);
  }
  try {
    return await route(iopaint, body);
  } catch (error) {
    if (!(error instanceof Trouble)) throw error;
    iopaint.stats.failures += 1;
    return showTrouble(error);
  }
}

function send(response: ServerResponse, { status, headers = {}, body }: Answer): void {
  const cors = { "access-control-allow-origin": "*", "access-control-expose-headers": "X-Seed" };
  response.writeHead(status, { ...cors, ...headers, "content-length": Buffer.byteLength(body) });
  response.end(body);
}
