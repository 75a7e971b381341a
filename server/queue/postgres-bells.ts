import { createPostgresBackend, withBackend } from "bullmq";
import pg from "pg";
import type { BellBackend } from "./bell-backend.ts";
import type { OnConnectionError } from "./connection.ts";

/** Bells over BullMQ's tables in PostgreSQL. */
export function postgresBells(url: string, onError: OnConnectionError): BellBackend {
  const backend = withBackend(createPostgresBackend);
  const connection = {
    connectionString: url,
    max: 3,
    Client: clientHeardBy(onError),
    connectionTimeoutMillis: 5_000,
    idle_in_transaction_session_timeout: 15_000,
  };
  return {
    isAway: () => false,
    openQueue: (name) => new backend.Queue(name, { connection }),
    openWorker(name, onBell, options) {
      const worker = new backend.Worker(name, onBell, { ...options, connection });
      return { worker, disconnect: () => void worker.disconnect().catch(onError) };
    },
    ping: () => Promise.resolve(),
    close: () => Promise.resolve(),
  };
}

/** While BullMQ starts it holds a client without listening: its cut connection would end the process. */
function clientHeardBy(onError: OnConnectionError) {
  return class extends pg.Client {
    constructor(config?: string | pg.ClientConfig) {
      super(config);
      this.on("error", onError);
    }
  };
}
