import { Queue, Worker } from "bullmq";
import { Redis } from "ioredis";
import type { BellBackend } from "./bells.ts";
import type { HintChannelName, HintTransport, TextListener } from "./hints.ts";
import type { OnConnectionError } from "./index.ts";
import { refusalWord } from "./redis-faults.ts";

const prefix = "atelier";
const aliveKey = `${prefix}:alive`;
/** How long the key of a ping stays. */
const aliveMs = 60_000;

/**
 * After this long without an answer the server or the line is dead. Not for connections that wait for a bell, on which
 * BullMQ has an eye. A process or a server that stood still for longer loses a healthy line, too, and with it bells and
 * hints until the next one, which may be lost anyway.
 */
const answerMs = 6_000;

/** A replica that is one for longer does not become the primary just now. */
const replicaMs = 2_000;

/**
 * After a failover by name the old connection leads to what is a replica now, and stays: the name is looked up for a new
 * connection alone. Not with each refusal, since a replica that stays one refuses every command.
 */
function toNewPrimary(): (error: Error) => boolean {
  let lastMs: number | null = null;
  return (error) => {
    const nowMs = performance.now();
    if (refusalWord(error) !== "READONLY" || nowMs - (lastMs ?? 0) < replicaMs) return false;
    const isFirst = lastMs === null;
    lastMs = nowMs;
    return !isFirst;
  };
}

/** Bells over Redis. BullMQ does not close connections that it receives, so all are closed here. */
export function redisBells(
  url: string,
  { onError, isPatient }: { readonly onError: OnConnectionError; readonly isPatient: boolean },
): BellBackend {
  const connect = (maxRetriesPerRequest: number | null, limits: { readonly socketTimeout?: number } = {}) => {
    const client = new Redis(url, {
      ...limits,
      maxRetriesPerRequest,
      connectTimeout: 5_000,
      lazyConnect: true,
      reconnectOnError: toNewPrimary(),
    });
    client.on("error", onError);
    return client;
  };
  // A bell that is under way when the connection ends fails as well, unless it may wait for the next one.
  const shared = connect(isPatient ? null : 0, { socketTimeout: answerMs });
  // From the first failure to connect, too; a client that has not been asked for anything yet is not away.
  let isAway = false;
  shared.on("close", () => (isAway = true));
  shared.on("ready", () => (isAway = false));
  return {
    isAway: () => isAway,
    openQueue: (name) => new Queue(name, { connection: shared, prefix, skipMetasUpdate: true }),
    openWorker(name, onBell, options) {
      const connection = connect(null);
      const worker = new Worker(name, onBell, { ...options, connection, prefix });
      const disconnect = () => {
        // `worker.disconnect` waits for the first connection, and leaves the second one of a worker that never had it.
        worker.close(true).catch(onError);
        connection.disconnect();
      };
      return { worker, disconnect };
    },
    // A write: a server that is full or read-only answers every ping.
    ping: async () => {
      await shared.set(aliveKey, "1", "PX", aliveMs);
    },
    close: async () => {
      shared.disconnect();
      await Promise.resolve();
    },
  };
}

/** Channels are the same in all databases of a server, unlike keys: another number is another studio, maybe a copy with the same jobs. */
const nameIn =
  ({ options: { db = 0 } }: Redis) =>
  (channel: HintChannelName) =>
    db === 0 ? `${prefix}:${channel}` : `${prefix}:${db}:${channel}`;

/** How often hints write, to see whether their server is still the primary. */
const lookMs = 10_000;
/** With so many looks in a row that heard nothing the server is asked: often enough, and few of requests that are paid for. */
const quietLooks = 2;

/** Publish and subscribe of Redis; both connections reconnect by themselves. */
export function redisHints(url: string, onError: OnConnectionError): HintTransport {
  const open = (reconnectOnError: (error: Error) => boolean) => {
    const client = new Redis(url, {
      lazyConnect: true,
      connectTimeout: 5_000,
      socketTimeout: answerMs,
      autoResubscribe: false,
      maxRetriesPerRequest: 1,
      reconnectOnError,
    });
    client.on("error", onError);
    return client;
  };
  const isOld = toNewPrimary();
  const publisher = open((error) => {
    const isLeft = isOld(error);
    if (isLeft && subscriber.status === "ready") subscriber.disconnect(true);
    return isLeft;
  });
  const subscriber = open(() => false);
  const nameOf = nameIn(publisher);
  // A replica takes messages and subscriptions, which are no writes, and passes nothing on to the primary.
  let looking: NodeJS.Timeout | undefined;
  let quiet = 0;
  const look = () => {
    looking ??= setInterval(() => {
      publisher.set(aliveKey, "1", "PX", aliveMs).catch(onError);
      // It may be sent nothing for hours, so that a router has forgotten it.
      quiet += 1;
      if (quiet < quietLooks || subscriber.status !== "ready") return;
      quiet = 0;
      subscriber.ping().catch(onError);
    }, lookMs).unref();
  };
  const listeners = new Map<string, TextListener>();
  const hear = (name: string, { onHeard }: TextListener) => {
    subscriber.subscribe(name).then(onHeard, onError);
  };
  const hearAll = () => {
    for (const [name, listener] of listeners) hear(name, listener);
  };
  subscriber.on("message", (name, text) => {
    quiet = 0;
    listeners.get(name)?.onText(text);
  });
  // On each connect: a subscription that failed because Redis was away at the start is not resumed by itself.
  subscriber.on("ready", hearAll);
  return {
    async send(channel, text) {
      look();
      await publisher.publish(nameOf(channel), text);
    },
    listen(channel, listener) {
      look();
      listeners.set(nameOf(channel), listener);
      if (subscriber.status === "ready") hear(nameOf(channel), listener);
      if (subscriber.status === "wait") subscriber.connect().catch(onError);
    },
    async unlisten(channel) {
      listeners.delete(nameOf(channel));
      if (subscriber.status === "ready") await subscriber.unsubscribe(nameOf(channel));
    },
    async close() {
      clearInterval(looking);
      publisher.disconnect();
      subscriber.disconnect();
      await Promise.resolve();
    },
  };
}
