/**
 * Answers of the assistant over WebSockets, for clients that do not poll. A client opens one and is sent
 * `{ request_id, status, answer }` or `{ request_id, status, error }` once for each question of its user that ends, at first
 * for those that ended in the last ten minutes, so that a new connection misses none. What clients send is dropped.
 *
 *     upgrade ─▶ origin, then key or session ─▶ open: watch ─▶ closed
 *                  │ 403, 401, 429                │ 1001 process stops, 1008 key or session over, 1013 database away
 *
 * The port belongs to whoever calls `upgrade`: the HTTP port of a worker, or the web server's. Loaded with the first
 * upgrade. Keys stand in headers alone, since addresses are logged by proxies.
 */
import type { IncomingMessage } from "node:http";
import type { Duplex } from "node:stream";
import { type WebSocket, WebSocketServer } from "ws";
import { findEnded, readSocketCaller, type SocketRequest } from "../../accounts/index.ts";
import { isDatabaseAway } from "../../db/index.ts";
import { listen } from "../../live/index.ts";
import {
  answerRaw,
  AppError,
  type ErrorCode,
  pathOfTarget,
  pushPath,
  isFault,
  takePlace,
  toAppError,
  toProblem,
} from "../../platform/index.ts";
import type { Services } from "../../services.ts";
import { questionSource } from "../live.ts";
import type { QuestionView } from "../read.ts";
import { isEnded } from "../life.ts";

/** The subprotocol; beside it a browser can offer `bearer.<key>`, since it cannot set headers. */
const protocol = "atelier";
/** Clients have nothing to say. */
const maxMessageBytes = 1_024;
/** What a client has not taken yet: one that stays behind is cut off and reads the rest on a new connection. */
const maxUnsentBytes = 1_048_576;
/** Shorter than the 60 s after which proxies cut silent connections. */
const pingMs = 25_000;
/** How often it is asked who was suspended or deleted. */
const endedMs = 1_000;
const closeMs = 1_000;
/** Ids of sent questions that a connection keeps; a question is looked at for ten minutes after its end. */
const maxSent = 1_000;

export interface Push {
  /** Takes over the connection. Never throws. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void;
  close(): Promise<void>;
}

export type PushInput = Pick<SocketRequest, "credentials">;

/** Serves WebSockets over connections that a server of HTTP hands over. */
export function openPush(services: Services, { credentials }: PushInput): Push {
  const stopped = new AbortController();
  const busy = new Set<Promise<void>>();
  const owners = watchOwners(services);
  const server = new WebSocketServer({
    noServer: true,
    maxPayload: maxMessageBytes,
    perMessageDeflate: false,
    handleProtocols: (offered) => (offered.has(protocol) ? protocol : false),
  });

  const admit = async (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    const findOwner = () => readSocketCaller(services, { request, credentials });
    const { ownerId, caller } = await findOwner();
    if (stopped.signal.aborted || socket.destroyed) return void socket.destroy();
    const giveBack = takePlace(services, "socket", { ...caller, userId: ownerId });
    // A handshake that fails closes the socket without a client.
    socket.once("close", giveBack);
    server.handleUpgrade(request, socket, head, (client) => {
      const forget = owners.add([caller.userId, ownerId], () => endClient(client, 1008));
      const find = async () => (await findOwner()).ownerId;
      const end = serve(services, client, { ownerId, findOwner: find, stopped: stopped.signal }).finally(
        () => {
          forget();
          giveBack();
          busy.delete(end);
        },
      );
      busy.add(end);
    });
  };
  return {
    upgrade(request, socket, head) {
      // A client may leave before `ws` listens for errors.
      socket.on("error", () => socket.destroy());
      admit(request, socket, head).catch((error: unknown) => refuse(services, socket, error));
    },
    async close() {
      stopped.abort();
      owners.close();
      for (const client of server.clients) client.close(1001, "The studio stops.");
      const late = setTimeout(() => {
        for (const client of server.clients) client.terminate();
      }, closeMs);
      await Promise.all(busy);
      clearTimeout(late);
      server.close();
    },
  };
}

/** Whether an upgrade asks for it. */
export function isPushRequest(request: Pick<IncomingMessage, "url">): boolean {
  return pathOfTarget(request) === pushPath;
}

/** Ends connections within about a second of the suspension or deletion of one of their users. */
function watchOwners(services: Services) {
  const watched = new Set<{ readonly userIds: readonly string[]; readonly end: () => void }>();
  let timer: NodeJS.Timeout | null = null;
  const look = async () => {
    const ids = new Set([...watched].flatMap(({ userIds }) => userIds));
    const ended = new Set(await findEnded(services, [...ids]));
    for (const { userIds, end } of watched) if (userIds.some((id) => ended.has(id))) end();
  };
  const lookLater = () => {
    timer = setTimeout(() => {
      // While the database is away, each connection ends by its own reads.
      void look()
        .catch((err: unknown) => services.log.debug({ err }, "the users of sockets were not read"))
        .finally(() => (watched.size > 0 ? lookLater() : (timer = null)));
    }, endedMs);
    timer.unref();
  };
  return {
    add(userIds: readonly string[], end: () => void): () => void {
      const each = { userIds, end };
      watched.add(each);
      if (timer === null) lookLater();
      return () => watched.delete(each);
    },
    close(): void {
      watched.clear();
      if (timer) clearTimeout(timer);
    },
  };
}

/** Closes in order, and by force when the client does not answer. */
function endClient(client: WebSocket, code: number): void {
  client.close(code);
  setTimeout(() => client.terminate(), closeMs).unref();
}

function refuse({ log }: Services, socket: Duplex, thrown: unknown): void {
  const error = isDatabaseAway(thrown)
    ? new AppError("database_unavailable", undefined, { cause: thrown })
    : toAppError(thrown);
  if (isFault(error.code))
    log.error({ code: error.code, err: error.cause ?? error }, "a socket could not be opened");
  const { status, headers, body } = toProblem(error);
  answerRaw(socket, {
    status,
    headers: { ...headers, ...(status === 401 ? { "www-authenticate": "Bearer" } : {}) },
    body: JSON.stringify(body),
  });
}

interface Serving {
  readonly ownerId: string;
  /** Asked again from time to time, so that a revoked key ends the connection. */
  readonly findOwner: () => Promise<string>;
  readonly stopped: AbortSignal;
}

/** The key or the session is over, or the user whom it named is suspended or gone: to come again would change nothing. */
const overCodes: ReadonlySet<ErrorCode> = new Set(["unauthorized", "forbidden", "not_found"]);

/** Sends what ends until the connection does. Never rejects. */
async function serve(services: Services, client: WebSocket, serving: Serving): Promise<void> {
  const gone = new AbortController();
  const closed = new Promise<void>((resolve) => {
    client.once("close", () => {
      gone.abort();
      resolve();
    });
  });
  // `ws` closes the connection itself, such as after a message that is too long.
  client.on("error", (error) => services.log.debug({ err: error }, "a socket failed"));
  const stopPings = keepAlive(client);
  try {
    await pushQuestions(services, client, {
      ...serving,
      stopped: AbortSignal.any([serving.stopped, gone.signal]),
    });
  } catch (error) {
    const isOver = overCodes.has(toAppError(error).code);
    if (!isOver) services.log.warn({ err: error }, "a socket was closed");
    client.close(isOver ? 1008 : 1013);
  }
  if (!serving.stopped.aborted && !gone.signal.aborted) setTimeout(() => client.terminate(), closeMs).unref();
  await closed;
  stopPings();
}

async function pushQuestions(services: Services, client: WebSocket, serving: Serving): Promise<void> {
  const sent = new Set<string>();
  const send = (run: QuestionView) => {
    if (!isEnded(run.status) || sent.has(run.id)) return;
    sent.add(run.id);
    if (client.bufferedAmount > maxUnsentBytes) client.terminate();
    else client.send(JSON.stringify(toMessage(run)));
    for (const id of [...sent].slice(0, Math.max(0, sent.size - maxSent))) sent.delete(id);
  };
  const { stopped: signal, ...owner } = serving;
  const input = { ...owner, since: null, signal, wantsLive: false };
  for await (const update of listen(services, [questionSource], input))
    if (update.type === "runs") update.runs.forEach(send);
}

function toMessage({ id, status, answer, error }: QuestionView) {
  return status === "completed"
    ? { request_id: id, status, answer }
    : { request_id: id, status, error: error?.message ?? "" };
}

/** Pings, and cuts a connection whose client did not answer the ping before. */
function keepAlive(client: WebSocket): () => void {
  let isAlive = true;
  client.on("pong", () => (isAlive = true));
  const timer = setInterval(() => {
    if (!isAlive) return client.terminate();
    isAlive = false;
    client.ping();
  }, pingMs);
  return () => clearInterval(timer);
}
