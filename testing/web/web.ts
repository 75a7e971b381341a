import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import type { Services } from "@atelier/server/services";
import { killAtExit } from "../processes/index.ts";
import { processEnv } from "../worker/index.ts";

/**
 * Stands for Next: its tools take the upgrades that are theirs, and it leaves all other sockets alone. It tells what has
 * reached it, and sends the second event of a stream once the first one was seen.
 */
const standIn = `
  import { createServer } from "node:http";
  const streams = new Set();
  const routes = {
    "/": (request, response) => response.end("page"),
    "/api/headers": ({ headers }, response) => response.end(JSON.stringify(headers)),
    "/api/stream": (request, response) => {
      response.writeHead(200, { "content-type": "text/event-stream" });
      response.write("data: first\\n\\n");
      streams.add(response);
    },
    "/api/next": (request, response) => {
      for (const stream of streams) stream.end("data: second\\n\\n");
      response.end();
    },
    "/api/size": (request, response) => {
      let size = 0;
      request.on("data", (part) => (size += part.length)).on("end", () => response.end(String(size)));
    },
  };
  const server = createServer((request, response) => {
    const route = routes[request.url];
    if (request.headers["x-atelier-refused-method"]) return response.writeHead(405).end();
    if (!route) response.statusCode = 404;
    if (route) route(request, response);
    else response.end("page");
  });
  server.on("upgrade", ({ url }, socket) => {
    if (url.startsWith("/_next/hmr"))
      socket.end("HTTP/1.1 418 Taken by Next\\r\\nConnection: close\\r\\n\\r\\n");
  });
  server.listen(0, "127.0.0.1", () => console.log(JSON.stringify(server.address())));
  process.once("SIGTERM", () => server.close(() => process.exit(0)));`;

/** A web process with the real front door and sockets. */
export interface Web {
  readonly child: ChildProcess;
  readonly port: number;
  /** Host and port. */
  readonly at: string;
}

export async function startWeb(services: Services, env: Record<string, string> = {}): Promise<Web> {
  const preload = path.join(import.meta.dirname, "../../scripts/web/preload.ts");
  const child = spawn(process.execPath, [`--import=${preload}`, "--input-type=module", "-e", standIn], {
    env: { ...processEnv(services), ...env },
    stdio: ["ignore", "pipe", "inherit"],
  });
  killAtExit(child);
  const [line]: unknown[] = await once(child.stdout, "data");
  const port = Number(Object(JSON.parse(String(line))).port);
  return { child, port, at: `127.0.0.1:${port}` };
}
