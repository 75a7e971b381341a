import { Queue, Worker } from "bullmq";
import { Redis } from "ioredis";
import type { BellBackend } from "./bell-backend.ts";
import type { OnConnectionError } from "./connection.ts";

const prefix = "atelier";

/** Bells over Redis. BullMQ leaves a connection that it was given to its giver, so all are closed here. */
export function redisBells(url: string, onError: OnConnectionError): BellBackend {
  const connect = () => {
    const client = new Redis(url, { maxRetriesPerRequest: null, connectTimeout: 5_000, lazyConnect: true });
    client.on("error", onError);
    return client;
  };
  const shared = connect();
  let wasReady = false;
  shared.on("ready", () => {
    wasReady = true;
  });
  return {
    isAway: () => wasReady && shared.status !== "ready",
    openQueue: (name) => new Queue(name, { connection: shared, prefix, skipMetasUpdate: true }),
    openWorker(name, onBell, options) {
      const connection = connect();
      const worker = new Worker(name, onBell, { ...options, connection, prefix });
      const disconnect = () => {
        worker.disconnect().catch(onError);
        connection.disconnect();
      };
      return { worker, disconnect };
    },
    ping: async () => {
      await shared.ping();
    },
    close: async () => {
      shared.disconnect();
      await Promise.resolve();
    },
  };
}
