/**
 * `task_update` by socket.io, for programs that listen to it: `{ task_id, status, progress, message }` for each change of a
 * job of the caller, at first for those that are open or ended in the last ten minutes. What programs send is dropped.
 *
 * The server of HTTP hands over requests and upgrades of /socket.io/; keys stand in headers, or the session's cookie counts.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { Server, type Socket } from "socket.io";
import { readSocketCaller, type SocketReader } from "../../accounts/index.ts";
import { jobSource, type JobsUpdate, type JobView } from "../../jobs/index.ts";
import { listen } from "../../live/index.ts";
import { takePlace, taskUpdatesPath, toAppError } from "../../platform/index.ts";
import type { Services } from "../../services.ts";

/** Programs have nothing to say. */
const maxMessageBytes = 1_024;
/** How long a connection may take to say what it wants. */
const connectMs = 10_000;
/** Messages that a program has not taken yet: one that stays behind is cut off, and reads the rest on a new connection. */
const maxUnsent = 1_000;

export interface TaskUpdates {
  request(request: IncomingMessage, response: ServerResponse): void;
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void;
  close(): Promise<void>;
}

/** A caller with a place; a long poll has many requests, of which the first counts. */
interface Admitted extends SocketReader {
  readonly giveBack: () => void;
  isConnected: boolean;
}

/** Serves socket.io over requests and connections that a server of HTTP hands over. */
export function openTaskUpdates(services: Services): TaskUpdates {
  const stopped = new AbortController();
  const admitted = new WeakMap<IncomingMessage, Admitted>();
  const admit = async (request: IncomingMessage) => {
    const reader = await readSocketCaller(services, { request, credentials: "key_or_session" });
    const giveBack = takePlace(services, "socket", reader.caller);
    const found: Admitted = { ...reader, giveBack, isConnected: false };
    admitted.set(request, found);
    // A handshake that fails opens no connection that could give it back.
    request.socket.once("close", () => found.isConnected || giveBack());
  };
  const io = new Server({
    path: taskUpdatesPath,
    serveClient: false,
    // Programs of the years in which such listeners were written.
    allowEIO3: true,
    connectTimeout: connectMs,
    maxHttpBufferSize: maxMessageBytes,
    perMessageDeflate: false,
    httpCompression: false,
    allowRequest(request, decide) {
      if (stopped.signal.aborted) return decide("The studio stops.", false);
      admit(request).then(
        () => decide(null, true),
        (error: unknown) => decide(toAppError(error).message, false),
      );
    },
  });
  // It never listens: socket.io reads requests of a server, and the real one belongs to whoever hands them over.
  io.attach(createServer());
  io.engine.on("connection", (connection: Socket["conn"]) => {
    const found = admitted.get(connection.request);
    if (!found) return connection.close();
    found.isConnected = true;
    connection.once("close", found.giveBack);
  });
  io.on("connection", (socket) => {
    const { request } = socket;
    const reader = admitted.get(request);
    if (reader) void tell(services, socket, { request, reader, stopped: stopped.signal });
  });
  return {
    request: (request, response) => io.engine.handleRequest(request, response),
    upgrade: (request, socket, head) => io.engine.handleUpgrade(request, socket, head),
    async close() {
      stopped.abort();
      await io.close();
    },
  };
}

interface Telling {
  readonly request: IncomingMessage;
  readonly reader: SocketReader;
  readonly stopped: AbortSignal;
}

/** Sends what changes until the connection ends. Never rejects. */
async function tell(services: Services, socket: Socket, telling: Telling): Promise<void> {
  const gone = new AbortController();
  socket.once("disconnect", () => gone.abort());
  const signal = AbortSignal.any([telling.stopped, gone.signal]);
  const send = sender(socket);
  const { request, reader } = telling;
  const findOwner = async () =>
    (await readSocketCaller(services, { request, credentials: "key_or_session" })).ownerId;
  try {
    const input = { ownerId: reader.ownerId, findOwner, since: null, signal };
    for await (const update of listen(services, [jobSource], input)) tasksOf(update).forEach(send);
  } catch (error) {
    services.log.debug({ err: error }, "a listener to task updates was closed");
  }
  // Not `disconnect`: after it a program would not connect again.
  socket.conn.close();
}

interface TaskUpdate {
  readonly task_id: string;
  readonly status: string;
  /** Percent. */
  readonly progress: number;
  readonly message: string;
}

function sender(socket: Socket): (task: TaskUpdate) => void {
  const sent = new Map<string, string>();
  let unsent = 0;
  socket.conn.on("drain", () => (unsent = 0));
  return (task) => {
    const key = `${task.status} ${task.progress}`;
    // Previews come more often than a new percent.
    if (sent.get(task.task_id) === key) return;
    if (task.status === "processing") sent.set(task.task_id, key);
    else sent.delete(task.task_id);
    unsent += 1;
    if (unsent > maxUnsent) socket.conn.close();
    else socket.emit("task_update", task);
  };
}

function tasksOf(update: JobsUpdate): TaskUpdate[] {
  if (update.type === "snapshot" || update.type === "jobs") return update.jobs.map(taskOf);
  if (update.type !== "progress") return [];
  const { jobId, progress } = update;
  return [
    { task_id: jobId, status: "processing", progress: percentOf(progress), message: messages.processing },
  ];
}

const messages = {
  pending: "The job waits for its turn.",
  queued: "The job waits for its turn.",
  waiting_for_engine: "The job waits for a server.",
  processing: "The job is being worked on.",
  completed: "The job is done.",
  failed: "The job failed.",
  cancelled: "The job was cancelled.",
} as const satisfies Record<JobView["status"], string>;

function taskOf({ id, status, progress, error }: JobView): TaskUpdate {
  return {
    task_id: id,
    // Listeners know no such status.
    status: status === "waiting_for_engine" ? "queued" : status,
    progress: status === "completed" ? 100 : percentOf(progress),
    message: (status === "failed" ? error?.message : null) ?? messages[status],
  };
}

const percentOf = (progress: number) => Math.round(progress * 100);
