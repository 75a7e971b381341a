import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { pipeline } from "node:stream/promises";
import { handleHttp, handleTrpc, healthResponse } from "@atelier/server/api";
import { parseConfig, parseEnv } from "@atelier/server/platform";
import { openServices, type Services } from "@atelier/server/services";
import pino from "pino";

/** The product's procedures, HTTP API (reading) and health in a process of their own, without pages; started by `startWeb`. */
async function main(): Promise<void> {
  const { env, problems } = parseEnv(process.env);
  if (!env) throw new Error(`wrong environment of the test web: ${JSON.stringify(problems)}`);
  const log = pino({ level: env.LOG_LEVEL });
  const services = await openServices({ env, config: parseConfig({}), name: "test web", log });
  const server = createServer((incoming, response) => {
    answer(services, incoming, response).catch(() => response.destroy());
  });
  server.listen(env.PORT, "127.0.0.1", () => process.stdout.write("web listens\n"));
}

async function answer(
  services: Services,
  incoming: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const left = new AbortController();
  response.once("close", () => left.abort());
  const headers = Object.entries(incoming.headers).map(([name, value]): [string, string] => [
    name,
    String(value),
  ]);
  const url = `http://${incoming.headers.host}${incoming.url}`;
  const request = new Request(url, { headers, signal: left.signal });
  const answered = await route(services, request);
  response.writeHead(answered.status, Object.fromEntries(answered.headers));
  response.flushHeaders();
  if (answered.body) await pipeline(answered.body, response);
  else response.end();
}

async function route(services: Services, request: Request): Promise<Response> {
  const { pathname } = new URL(request.url);
  if (pathname === "/api/health") return healthResponse(services);
  return pathname.startsWith("/api/v1/") ? handleHttp(services, request) : handleTrpc(services, request);
}

await main();
