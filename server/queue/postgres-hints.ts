import pg from "pg";
import type { OnConnectionError } from "./connection.ts";
import type { HintTransport } from "./hint-channel.ts";

const channel = "atelier_hints";
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
  const listener = { client: null as pg.Client | null, closed: false, retryMs: firstRetryMs };

  async function connect(onText: (text: string) => void): Promise<void> {
    if (listener.closed) return;
    const client = new pg.Client({ connectionString: url, keepAlive: true, connectionTimeoutMillis: 5_000 });
    const retry = () => {
      if (listener.client !== client) return;
      listener.client = null;
      if (listener.closed) return;
      const waitMs = listener.retryMs;
      listener.retryMs = Math.min(lastRetryMs, waitMs * 2);
      setTimeout(() => void connect(onText), waitMs).unref();
    };
    listener.client = client;
    client.on("notification", (notification) => notification.payload && onText(notification.payload));
    client.on("error", (error) => {
      onError(error);
      retry();
    });
    client.on("end", retry);
    try {
      await client.connect();
      await client.query(`listen ${channel}`);
      listener.retryMs = firstRetryMs;
    } catch (error) {
      onError(error instanceof Error ? error : new Error(String(error)));
      client.end().catch(onError);
      retry();
    }
  }

  return {
    maxBytes: 7_500,
    async send(text) {
      await pool.query("select pg_notify($1, $2)", [channel, text]);
    },
    listen: (onText) => void connect(onText),
    async close() {
      listener.closed = true;
      await Promise.all([listener.client?.end(), pool.end()]);
    },
  };
}
