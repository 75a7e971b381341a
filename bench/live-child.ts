import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { handleHttp, handleTrpc } from "@atelier/server/api";
import { parseConfig, parseEnv } from "@atelier/server/platform";
import { openServices, type Services } from "@atelier/server/services";
import { pipeToNodeResponse } from "next/dist/server/pipe-readable.js";
import pino from "pino";

// A server of a bench in a process of its own, started by `live.ts`: `studio` answers with the product's procedures,
// piped as Next.js does; `raw` writes what it hears to plain sockets.

/** What the process holds, on request of the bench. */
export interface Counts {
  readonly rssBytes: number;
  readonly heapBytes: number;
  readonly timers: number;
  readonly sockets: number;
}

async function main(mode: string): Promise<void> {
  const { env, problems } = parseEnv(process.env);
  if (!env) throw new Error(JSON.stringify(problems));
  const log = pino({ level: "silent" });
  const config = parseConfig({ limits: { apiKeyPerMinute: 1_000_000 } });
  const services = await openServices({ env, config, name: "bench", log });
  const answer =
    mode === "raw"
      ? answerRaw(services)
      : (...each: Exchange) => {
          answerAsStudio(services, ...each).catch(() => each[1].destroy());
        };
  const server = createServer(answer);
  server.listen(0, "127.0.0.1", 10_000, () => {
    const address = server.address();
    process.send?.({ port: typeof address === "object" ? address?.port : null });
  });
  process.on("message", (asked) =>
    process.send?.(asked === "cpu" ? { cpu: cpuMs() } : { counts: readCounts() }),
  );
}

type Exchange = [IncomingMessage, ServerResponse];

async function answerAsStudio(services: Services, incoming: IncomingMessage, response: ServerResponse) {
  const left = new AbortController();
  response.once("close", () => left.abort());
  const headers = Object.entries(incoming.headers).map(([name, value]): [string, string] => [
    name,
    String(value),
  ]);
  const request = new Request(`http://${incoming.headers.host}${incoming.url}`, {
    headers,
    signal: left.signal,
  });
  const answered = await (incoming.url?.startsWith("/api/v1/") === true
    ? handleHttp(services, request)
    : handleTrpc(services, request));
  response.writeHead(answered.status, Object.fromEntries(answered.headers));
  if (answered.body) await pipeToNodeResponse(answered.body, response).catch(() => response.destroy());
  else response.end();
}

/** The least that can be done: one serialisation for each group of readers, and a write for each reader. */
function answerRaw({ hints }: Services): (...each: Exchange) => void {
  const readers = new Map<string, Set<ServerResponse>>();
  hints.subscribeLive((message) => {
    if (message.type !== "progress") return;
    const own = readers.get(message.progress.jobId);
    if (!own) return;
    const bytes = Buffer.from(
      `data: ${JSON.stringify({ json: { type: "progress", ...message.progress, preview: null } })}\n\n`,
    );
    for (const reader of own) reader.write(bytes);
  });
  return (incoming, response) => {
    const group = incoming.url?.slice(1) ?? "";
    readers.set(group, (readers.get(group) ?? new Set()).add(response));
    response.once("close", () => readers.get(group)?.delete(response));
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write("event: connected\ndata: {}\n\n");
  };
}

setFlagsFromString("--expose-gc");
const collectGarbage: unknown = runInNewContext("gc");

function readCounts(): Counts {
  if (typeof collectGarbage === "function") collectGarbage();
  const { rss, heapUsed } = process.memoryUsage();
  const resources = process.getActiveResourcesInfo();
  const count = (name: string) => resources.filter((each) => each === name).length;
  return {
    rssBytes: rss,
    heapBytes: heapUsed,
    timers: count("Timeout"),
    sockets: count("TCPSocketWrap"),
  };
}

function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

process.on("SIGTERM", () => process.exit(0));
await main(process.argv[2] ?? "studio");
