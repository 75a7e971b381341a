import {
  createServer,
  type IncomingMessage,
  request as send,
  type Server,
  type ServerResponse,
} from "node:http";
import type { Instance } from "./instance.ts";

/** What a platform of functions does with a request that is larger. */
const maxBodyBytes = 4.5 * 1024 ** 2;

interface GatewayOptions {
  /** Processes of the web. Streams go to the first, so that the second is frozen between its requests. */
  readonly streams: Instance;
  readonly calls: Instance;
  /** A request that takes longer is cut. */
  readonly limitMs: number;
}

/** What happened so far. */
interface Figures {
  requests: number;
  /** Bodies that were refused for their size. */
  refused: number;
  /** Requests that took longer than the limit. */
  cut: number;
}

const tooLarge = JSON.stringify({ error: { code: "413", message: "FUNCTION_PAYLOAD_TOO_LARGE" } });

function refuse(incoming: IncomingMessage, answer: ServerResponse): void {
  // Read to its end, so that the client gets the answer.
  incoming.resume();
  incoming.once("end", () => answer.writeHead(413, { "content-type": "application/json" }).end(tooLarge));
}

/** Passes a request on to a process, which is awake until the answer was sent in full. */
function pass(
  options: GatewayOptions,
  figures: Figures,
  incoming: IncomingMessage,
  answer: ServerResponse,
): void {
  const { streams, calls, limitMs } = options;
  const isStream = incoming.headers.accept?.includes("text/event-stream") ?? false;
  const instance = isStream ? streams : calls;
  const release = instance.begin();
  const { method, url: path, socket } = incoming;
  const headers = { ...incoming.headers, "x-forwarded-for": socket.remoteAddress };
  const outgoing = send({ port: instance.port, host: "127.0.0.1", method, path, headers, agent: false });
  const timer = setTimeout(() => {
    figures.cut += 1;
    process.stdout.write(`cut after ${limitMs} ms: ${method} ${path}\n`);
    outgoing.destroy();
    answer.destroy();
  }, limitMs);
  const end = () => {
    clearTimeout(timer);
    release();
  };
  outgoing.once("response", (response) => {
    answer.writeHead(response.statusCode ?? 502, response.headers);
    response.pipe(answer);
  });
  outgoing.once("close", end);
  outgoing.once("error", () => {
    end();
    answer.destroy();
  });
  // As with `supportsCancellation`: the process hears that its client has left.
  answer.once("close", () => outgoing.destroy());
  let sizeBytes = 0;
  incoming.on("data", (chunk: Buffer) => {
    sizeBytes += chunk.length;
    if (sizeBytes <= maxBodyBytes) return void outgoing.write(chunk);
    figures.refused += 1;
    outgoing.destroy();
  });
  incoming.once("end", () => outgoing.end());
}

/** The platform's front: one address, a limit of bodies, a limit of time, and processes that are frozen between requests. */
export function openGateway(options: GatewayOptions): Server {
  const figures: Figures = { requests: 0, refused: 0, cut: 0 };
  return createServer((incoming, answer) => {
    if (incoming.url === "/.platform") {
      const frozen = { streams: options.streams.frozen(), calls: options.calls.frozen() };
      answer
        .writeHead(200, { "content-type": "application/json" })
        .end(JSON.stringify({ ...figures, frozen }));
      return;
    }
    figures.requests += 1;
    if (Number(incoming.headers["content-length"] ?? 0) <= maxBodyBytes)
      return pass(options, figures, incoming, answer);
    figures.refused += 1;
    refuse(incoming, answer);
  });
}
