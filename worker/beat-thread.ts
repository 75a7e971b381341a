import { parentPort, workerData } from "node:worker_threads";
import pg from "pg";

export interface BeatInput {
  readonly databaseUrl: string;
  readonly nodeId: string;
  readonly beatMs: number;
  readonly mainThreadStallMs: number;
}

export type BeatMessage = { readonly type: "lost" };

const timeoutMs = 1_000;

/** Raises the node's counter; false when the row is gone or no longer alive. Throws when the database does not answer. */
async function beat(client: pg.Client, nodeId: string): Promise<boolean> {
  const result = await client.query(
    "update nodes set counter = counter + 1, seen_at = now() where id = $1 and state in ('active', 'draining')",
    [nodeId],
  );
  return result.rowCount === 1;
}

async function connect(databaseUrl: string): Promise<pg.Client> {
  const client = new pg.Client({
    connectionString: databaseUrl,
    application_name: "atelier beat",
    connectionTimeoutMillis: timeoutMs,
    query_timeout: timeoutMs,
    statement_timeout: timeoutMs,
  });
  // A lost connection makes the next beat fail, and the beat after it connects again without backoff.
  client.on("error", () => {});
  await client.connect();
  return client;
}

async function run({ databaseUrl, nodeId, beatMs, mainThreadStallMs }: BeatInput): Promise<void> {
  let client: pg.Client | null = null;
  let tickedAtMs = performance.now();
  let stopped = false;
  parentPort?.on("message", (message: "tick" | "stop") => {
    if (message === "stop") stopped = true;
    tickedAtMs = performance.now();
  });
  while (!stopped) {
    const startedMs = performance.now();
    try {
      client ??= await connect(databaseUrl);
      const stalled = startedMs - tickedAtMs > mainThreadStallMs;
      if (!stalled && !(await beat(client, nodeId))) {
        parentPort?.postMessage({ type: "lost" } satisfies BeatMessage);
        stopped = true;
      }
    } catch {
      // Not awaited: on a dead network `end` never resolves, and the next beat is due.
      void client?.end().catch(() => {});
      client = null;
    }
    const restMs = Math.max(0, beatMs - (performance.now() - startedMs));
    await new Promise((resolve) => setTimeout(resolve, restMs));
  }
  await client?.end().catch(() => {});
  parentPort?.close();
}

// Safe cast: only `startBeat` starts this thread, with exactly this input.
void run(workerData as BeatInput);
