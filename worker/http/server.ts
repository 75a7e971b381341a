import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { Push } from "@atelier/server/assistant/push";
import { answerRaw, AppError, isUpgrade } from "@atelier/server/platform";
import type { Services } from "@atelier/server/services";
import type { LiveOffer } from "../live-offer.ts";
import type { Incarnation } from "../base/index.ts";
import type { Runs } from "../runs.ts";
import type { ServerPool } from "../servers/index.ts";
import type { Readiness } from "../readiness.ts";

/** The parts of the worker that /health reports. */
export interface WorkerView {
  readonly incarnation: Incarnation;
  readonly offer: LiveOffer;
  readonly runs: Runs;
  readonly pool: ServerPool;
  readonly readiness: Readiness;
}

const limits = { headersTimeout: 10_000, requestTimeout: 30_000, keepAliveTimeout: 5_000 };
/** A connection without traffic for this long is closed. */
const silentMs = 60_000;
/** Requests under way get this long when the worker stops. */
const closeMs = 5_000;

export interface WorkerHttp {
  /** From now on /health reports this worker. */
  show(worker: WorkerView): void;
  /** Takes no new requests and ends those under way. */
  close(): Promise<void>;
}

/** Listens on WORKER_HTTP_PORT; null when it is not set. Throws `internal` when the port is not available. */
export async function openWorkerHttp(services: Services): Promise<WorkerHttp | null> {
  const { HOST: host, WORKER_HTTP_PORT: port, WORKER_HTTP_TOKEN: token } = services.env;
  if (port === undefined || token === undefined) return null;
  // Imported late: the accounts take a fifth of a worker's start, and most workers open no port.
  const { answerRequest } = await import("./answer.ts");
  let worker: WorkerView | null = null;
  // Safe: an option of this version of Node that the types lack.
  const options = { ...limits, shouldUpgradeCallback: isUpgrade };
  const server = createServer(options, (request, response) => {
    void answerRequest({ services, token, worker }, request, response);
  });
  const push = await servePush(services, server);
  server.timeout = silentMs;
  await listen(server, host, port);
  // Without a listener, a connection that cannot be accepted would end the process.
  server.on("error", (error) => services.log.error({ err: error }, "worker http cannot accept a connection"));
  services.log.info({ address: server.address() }, "worker http listens");
  return {
    show(view) {
      worker = view;
    },
    async close() {
      await Promise.all([close(server), push.close()]);
    },
  };
}

/** Answers of the assistant over WebSockets (/api/ws), with the API key of a user instead of the worker's token. */
async function servePush(services: Services, server: Server): Promise<Push> {
  const { isPushRequest, openPush } = await import("@atelier/server/assistant/push");
  const push = openPush(services, { credentials: "key" });
  server.on("upgrade", (request, socket, head) => {
    if (isPushRequest(request)) push.upgrade(request, socket, head);
    else answerRaw(socket, { status: 404 });
  });
  return push;
}

async function listen(server: Server, host: string, port: number): Promise<void> {
  try {
    server.listen(port, host);
    await once(server, "listening");
  } catch (cause) {
    throw new AppError("internal", `WORKER_HTTP_PORT: ${host}:${port} is not available.`, { cause });
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
