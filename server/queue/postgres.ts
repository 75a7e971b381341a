import pg from "pg";
import type { OnConnectionError } from "./connection.ts";
import type { HintChannelName, HintTransport } from "./hints.ts";
import { cutText, joinTexts } from "./long-texts.ts";

const nameOf = (channel: HintChannelName) => `atelier_${channel}`;
const firstRetryMs = 250;
const lastRetryMs = 5_000;

/** NOTIFY on a connection of its own, outside of the jobs' transactions; LISTEN on another that reconnects. */
export function postgresHints(url: string, onError: OnConnectionError): HintTransport {
  const pool = new pg.Pool({
    connectionString: url,
    max: 1,
    connectionTimeoutMillis: 5_000,
    statement_timeout: 5_000,
  });
  pool.on("error", onError);
  const listeners = new Map<string, (text: string) => void>();
  const listener = { client: null as pg.Client | null, closed: false, retryMs: firstRetryMs };

  async function listenAll(client: pg.Client): Promise<void> {
    for (const name of listeners.keys()) await client.query(`listen ${name}`);
  }
  async function connect(): Promise<void> {
    if (listener.closed) return;
    const client = new pg.Client({ connectionString: url, keepAlive: true, connectionTimeoutMillis: 5_000 });
    const retry = () => {
      if (listener.client !== client) return;
      listener.client = null;
      if (listener.closed) return;
      const waitMs = listener.retryMs;
      listener.retryMs = Math.min(lastRetryMs, waitMs * 2);
      setTimeout(() => void connect(), waitMs).unref();
    };
    listener.client = client;
    client.on("notification", ({ channel, payload }) => payload && listeners.get(channel)?.(payload));
    client.on("error", (error) => {
      onError(error);
      retry();
    });
    client.on("end", retry);
    try {
      await client.connect();
      await listenAll(client);
      listener.retryMs = firstRetryMs;
    } catch (error) {
      onError(error instanceof Error ? error : new Error(String(error)));
      client.end().catch(onError);
      retry();
    }
  }

  return {
    async send(channel, text) {
      // One statement, so that the parts of a text arrive together.
      await pool.query("select pg_notify($1, part) from unnest($2::text[]) part", [
        nameOf(channel),
        cutText(text),
      ]);
    },
    listen(channel, onText) {
      const isFirst = listeners.size === 0;
      listeners.set(nameOf(channel), joinTexts(onText));
      if (isFirst) void connect();
      else listener.client?.query(`listen ${nameOf(channel)}`).catch(onError);
    },
    async close() {
      listener.closed = true;
      await Promise.all([listener.client?.end(), pool.end()]);
    },
  };
}
