import { createServer } from "node:http";
import { handleHttp, handleTrpc, healthResponse } from "@atelier/server/api";
import { parseConfig, parseEnv } from "@atelier/server/platform";
import { openServices, type Services } from "@atelier/server/services";
import pino from "pino";
import { answerBy } from "../http/index.ts";

/** The product's procedures, HTTP API (reading) and health in a process of their own, without pages; started by `startWeb`. */
async function main(): Promise<void> {
  const { env, problems } = parseEnv(process.env);
  if (!env) throw new Error(`wrong environment of the test web: ${JSON.stringify(problems)}`);
  const log = pino({ level: env.LOG_LEVEL });
  const services = await openServices({ env, config: parseConfig({}), name: "test web", log });
  const server = createServer(answerBy((request) => route(services, request)));
  server.listen(env.PORT, "127.0.0.1", () => process.stdout.write("web listens\n"));
}

async function route(services: Services, request: Request): Promise<Response> {
  const { pathname } = new URL(request.url);
  if (pathname === "/api/health") return healthResponse(services);
  return pathname.startsWith("/api/v1/") ? handleHttp(services, request) : handleTrpc(services, request);
}

await main();
