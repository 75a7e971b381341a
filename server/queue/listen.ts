import pg from "pg";
import type { OnConnectionError } from "./index.ts";

const firstRetryMs = 250;
const lastRetryMs = 5_000;

/** LISTEN of PostgreSQL for one process. */
export interface Listener {
  /** Calls `onPayload` for each notification of the channel; connects with the first call. */
  listen(channel: string, onPayload: (payload: string) => void): void;
  unlisten(channel: string): Promise<void>;
  close(): Promise<void>;
}

/**
 * Opens one connection for LISTEN. A lost one is made again, after pauses from 250 ms to 5 s; what was sent meanwhile is
 * lost, so whoever listens also has to look from time to time. `onError` gets what went wrong, nothing is thrown.
 */
export function createListener(url: string, onError: OnConnectionError): Listener {
  const listeners = new Map<string, (payload: string) => void>();
  const state = {
    client: null as pg.Client | null,
    isStarted: false,
    isClosed: false,
    retryMs: firstRetryMs,
  };

  async function connect(): Promise<void> {
    if (state.isClosed) return;
    const client = new pg.Client({ connectionString: url, keepAlive: true, connectionTimeoutMillis: 5_000 });
    const retry = () => {
      if (state.client !== client) return;
      state.client = null;
      if (state.isClosed) return;
      const waitMs = state.retryMs;
      state.retryMs = Math.min(lastRetryMs, waitMs * 2);
      setTimeout(() => void connect(), waitMs).unref();
    };
    state.client = client;
    client.on("notification", ({ channel, payload }) => payload && listeners.get(channel)?.(payload));
    client.on("error", (error) => {
      onError(error);
      retry();
    });
    client.on("end", retry);
    try {
      await client.connect();
      for (const name of listeners.keys()) await client.query(`listen ${name}`);
      state.retryMs = firstRetryMs;
    } catch (error) {
      onError(error instanceof Error ? error : new Error(String(error)));
      client.end().catch(onError);
      retry();
    }
  }

  return {
    listen(channel, onPayload) {
      listeners.set(channel, onPayload);
      if (state.isStarted) {
        state.client?.query(`listen ${channel}`).catch(onError);
        return;
      }
      state.isStarted = true;
      void connect();
    },
    async unlisten(channel) {
      listeners.delete(channel);
      await state.client?.query(`unlisten ${channel}`);
    },
    async close() {
      state.isClosed = true;
      await state.client?.end();
    },
  };
}
