import { randomUUID } from "node:crypto";
import { createPostgresBackend, withBackend } from "bullmq";
import pg from "pg";
import { orLate } from "../platform/index.ts";
import type { BellBackend } from "./bells.ts";
import type { HintChannelName, HintTransport, TextListener } from "./hints.ts";
import type { OnConnectionError } from "./index.ts";

/** How long an end of connections is waited for: to a dead line none can be said. */
const endMs = 2_000;

/** Waits for the end of connections, but not of those whose line is dead. */
export async function endInTime(ended: Promise<unknown>): Promise<void> {
  await orLate(ended, endMs, () => undefined);
}

/** Bells over BullMQ's tables in PostgreSQL. */
export function postgresBells(url: string, onError: OnConnectionError): BellBackend {
  const backend = withBackend(createPostgresBackend);
  const connection = {
    ...withOptions(url),
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

/** The locks of BullMQ's statements are made for this level, whatever the database is set to. */
const level = String.raw`-c default_transaction_isolation=read\ committed`;

/** BullMQ adds its schema to the options, which those of an address would replace. */
function withOptions(address: string) {
  const url = new URL(address);
  const given = url.searchParams.get("options");
  url.searchParams.delete("options");
  return { connectionString: url.href, options: given === null ? level : `${given} ${level}` };
}

/** During its start BullMQ holds a client without an error listener: a lost connection would end the process. */
function clientHeardBy(onError: OnConnectionError) {
  return class extends pg.Client {
    constructor(config?: string | pg.ClientConfig) {
      super(config);
      this.on("error", onError);
    }
  };
}

/** PostgreSQL refuses payloads of 8,000 bytes and more; each part also needs room for its header. */
const partChars = 7_500;
const header = /^#(\S+) (\d+) (\d+) /;

/** Cuts a JSON text into payloads for NOTIFY; the header makes each part unique, because equal payloads are merged. */
function cutText(json: string): string[] {
  const text = toAscii(json);
  if (text.length <= partChars) return [text];
  const id = randomUUID();
  const count = Math.ceil(text.length / partChars);
  return Array.from({ length: count }, (_, at) => {
    const part = text.slice(at * partChars, (at + 1) * partChars);
    return `#${id} ${at} ${count} ${part}`;
  });
}

/** Escapes all non-ASCII characters, so that each character is one byte. */
function toAscii(json: string): string {
  return json.replaceAll(
    /[\u0080-\uffff]/g,
    (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}

/** Joins the parts of texts, which arrive in order; a text with a missing part is dropped. */
function joinTexts(onText: (text: string) => void): (payload: string) => void {
  let id = "";
  let parts: string[] = [];
  return (payload) => {
    const head = header.exec(payload);
    if (!head) {
      onText(payload);
      return;
    }
    const [start, partId = "", at, count] = head;
    if (at === "0") {
      id = partId;
      parts = [];
    }
    if (partId !== id || Number(at) !== parts.length) return;
    parts.push(payload.slice(start.length));
    if (parts.length === Number(count)) onText(parts.join(""));
  };
}

const nameOf = (channel: HintChannelName) => `atelier_${channel}`;

/** NOTIFY on its own connection, outside of transactions; LISTEN on a second one that reconnects. */
export function postgresHints(url: string, onError: OnConnectionError): HintTransport {
  const pool = new pg.Pool({
    connectionString: url,
    max: 1,
    connectionTimeoutMillis: 5_000,
    statement_timeout: 5_000,
    query_timeout: answerMs,
  });
  pool.on("error", onError);
  const listener = createListener(url, onError);
  return {
    async send(channel, text) {
      // One statement, so that the parts of a text arrive together. Its commit waits for no disk: a hint may be lost.
      const notify =
        "select pg_notify($1, part) from unnest($2::text[]) part, set_config('synchronous_commit', 'off', true)";
      await pool.query(notify, [nameOf(channel), cutText(text)]);
    },
    listen: (channel, { onText, onHeard }) =>
      listener.listen(nameOf(channel), { onText: joinTexts(onText), onHeard }),
    unlisten: (channel) => listener.unlisten(nameOf(channel)),
    async close() {
      await endInTime(Promise.all([listener.close(), pool.end()]));
    },
  };
}

const firstRetryMs = 250;
const lastRetryMs = 5_000;

/**
 * After this long without an answer the server or the line is dead. A process that stood still for longer loses a healthy
 * line, too, and with it hints until the next one, which may be lost anyway.
 */
const answerMs = 6_000;
/** How often a listener, which is sent nothing for hours, asks whether its server still hears it. */
const lookMs = 20_000;

/** LISTEN of PostgreSQL for one process. */
interface Listener {
  /** Each notification of the channel is a text; connects with the first call. */
  listen(channel: string, listener: TextListener): void;
  unlisten(channel: string): Promise<void>;
  close(): Promise<void>;
}

/**
 * Opens one connection for LISTEN. A lost one is made again, after pauses from 250 ms to 5 s; what was sent meanwhile is
 * lost, so whoever listens also has to look from time to time. `onError` gets what went wrong, nothing is thrown.
 */
function createListener(url: string, onError: OnConnectionError): Listener {
  const listeners = new Map<string, TextListener>();
  const state = {
    client: null as pg.Client | null,
    /** The statement that is under way and those after it; null before the connection stands. */
    settling: null as Promise<void> | null,
    isStarted: false,
    isClosed: false,
    retryMs: firstRetryMs,
  };

  async function connect(): Promise<void> {
    if (state.isClosed) return;
    const client = new pg.Client({
      connectionString: url,
      connectionTimeoutMillis: 5_000,
      query_timeout: answerMs,
    });
    const looking = setInterval(() => {
      say("select").catch((error: unknown) => {
        onError(error instanceof Error ? error : new Error(String(error)));
        // To a dead line no end can be said, so that it is not waited for.
        client.end().catch(onError);
        retry();
      });
    }, lookMs).unref();
    const retry = () => {
      clearInterval(looking);
      if (state.client !== client) return;
      state.client = null;
      state.settling = null;
      if (state.isClosed) return;
      const waitMs = state.retryMs;
      state.retryMs = Math.min(lastRetryMs, waitMs * 2);
      setTimeout(() => void connect(), waitMs).unref();
    };
    state.client = client;
    client.on("notification", ({ channel, payload }) => payload && listeners.get(channel)?.onText(payload));
    client.on("error", (error) => {
      onError(error);
      retry();
    });
    client.on("end", retry);
    try {
      await client.connect();
      if (state.client !== client) return;
      state.settling = Promise.resolve();
      await Promise.all([...listeners.keys()].map(hear));
      state.retryMs = firstRetryMs;
    } catch (error) {
      onError(error instanceof Error ? error : new Error(String(error)));
      client.end().catch(onError);
      retry();
    }
  }

  /** One statement after the other: a connection takes no second one meanwhile. Before it stands there is nothing to say. */
  function say(statement: string): Promise<void> {
    const { client, settling } = state;
    if (client === null || settling === null) return Promise.resolve();
    const said = settling.then(() => client.query(statement)).then(() => undefined);
    // What fails is told to who asked for it, and holds up none of the next.
    state.settling = said.catch(() => undefined);
    return said;
  }

  async function hear(channel: string): Promise<void> {
    const listener = listeners.get(channel);
    await say(`listen ${channel}`);
    listener?.onHeard();
  }

  /** Nobody knows what the server sends on a line whose answer did not come: a new one hears all channels. */
  const leave = (client: pg.Client | null) => (error: Error) => {
    onError(error);
    if (state.client === client) client?.end().catch(onError);
  };

  return {
    listen(channel, listener) {
      listeners.set(channel, listener);
      if (state.isStarted) {
        // Before the connection stands it is said then.
        if (state.settling) hear(channel).catch(leave(state.client));
        return;
      }
      state.isStarted = true;
      void connect();
    },
    async unlisten(channel) {
      listeners.delete(channel);
      await say(`unlisten ${channel}`);
    },
    async close() {
      state.isClosed = true;
      await state.client?.end();
    },
  };
}
