import { once } from "node:events";
import { createServer, type Server } from "node:http";
import { AppError } from "@atelier/server/platform";
import type { Services } from "@atelier/server/services";
import type { LiveOffer } from "../live-offer.ts";
import type { Incarnation } from "../presence.ts";
import type { Runs } from "../runs.ts";
import type { ServerPool } from "../servers/index.ts";
import type { Space } from "../space.ts";

/** The parts of the worker that its health tells of. */
export interface WorkerView {
  readonly incarnation: Incarnation;
  readonly offer: LiveOffer;
  readonly runs: Runs;
  readonly pool: ServerPool;
  readonly space: Space;
}

const limits = { headersTimeout: 10_000, requestTimeout: 30_000, keepAliveTimeout: 5_000 };
/** A client that takes no byte for this long is left. */
const silentMs = 60_000;
/** Requests under way get this long when the worker stops. */
const closeMs = 5_000;

/** The worker's own endpoints (A14). */
export interface WorkerHttp {
  /** From now on its health tells of this worker. */
  show(worker: WorkerView): void;
  /** Takes no new requests and ends those under way. */
  close(): Promise<void>;
}

/** Listens where WORKER_HTTP_PORT says; null without it. Throws `internal` when the port cannot be had. */
export async function openWorkerHttp(services: Services): Promise<WorkerHttp | null> {
  const { HOST: host, WORKER_HTTP_PORT: port, WORKER_HTTP_TOKEN: token } = services.env;
  if (port === undefined || token === undefined) return null;
  // The accounts take a fifth of a worker's start, which most do without.
  const { answerRequest } = await import("./answer.ts");
  let worker: WorkerView | null = null;
  const server = createServer(limits, (request, response) => {
    void answerRequest({ services, token, worker }, request, response);
  });
  server.timeout = silentMs;
  await listen(server, host, port);
  // A connection that cannot be accepted: without a listener it would end the process.
  server.on("error", (error) => services.log.error({ err: error }, "worker http cannot accept a connection"));
  services.log.info({ address: server.address() }, "worker http listens");
  return {
    show(view) {
      worker = view;
    },
    close: () => close(server),
  };
}

async function listen(server: Server, host: string, port: number): Promise<void> {
  try {
    server.listen(port, host);
    await once(server, "listening");
  } catch (cause) {
    throw new AppError("internal", `WORKER_HTTP_PORT: ${host}:${port} cannot be listened on.`, { cause });
  }
}

async function close(server: Server): Promise<void> {
  const closed = once(server, "close");
  server.close();
  server.closeIdleConnections();
  const late = setTimeout(() => server.closeAllConnections(), closeMs);
  await closed;
  clearTimeout(late);
}
