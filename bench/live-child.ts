import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { handleHttp, handleTrpc } from "@atelier/server/api";
import { parseConfig, parseEnv } from "@atelier/server/platform";
import { openServices, type Services } from "@atelier/server/services";
import { answerBy } from "@atelier/testing/http";
import { pipeToNodeResponse } from "next/dist/server/pipe-readable.js";
import pino from "pino";

/*
 * The server of `live.ts`, in its own process. `studio` answers with the product's procedures, through the function by which
 * Next.js writes to sockets; `raw` writes each message that it hears to plain sockets.
 */

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
  const server = createServer(
    mode === "raw" ? answerRaw(services) : answerBy(answerOf(services), pipeAsNext),
  );
  server.listen(0, "127.0.0.1", 10_000, () => {
    const address = server.address();
    process.send?.({ port: typeof address === "object" ? address?.port : null });
  });
  process.on("message", (asked) =>
    process.send?.(asked === "cpu" ? { cpu: cpuMs() } : { counts: readCounts() }),
  );
}

const answerOf =
  (services: Services) =>
  (request: Request): Promise<Response> | Response =>
    new URL(request.url).pathname.startsWith("/api/v1/")
      ? handleHttp(services, request)
      : handleTrpc(services, request);

const pipeAsNext = (body: ReadableStream<Uint8Array>, response: ServerResponse) =>
  pipeToNodeResponse(body, response);

/** The least that can be done: one serialisation for each group of readers, and a write for each reader. */
function answerRaw({ hints }: Services): (incoming: IncomingMessage, response: ServerResponse) => void {
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
