import { setTimeout as sleep } from "node:timers/promises";
import { parentPort, workerData } from "node:worker_threads";
import pg from "pg";

export interface BeatInput {
  readonly databaseUrl: string;
  readonly beatMs: number;
  readonly mainThreadStallMs: number;
}

/** `ready` comes once: the thread waits for the node whose counter it raises. */
export type BeatMessage = { readonly type: "ready" | "lost" };

export type BeatOrder = "tick" | "stop" | { readonly nodeId: string };

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

function say(type: BeatMessage["type"]): void {
  parentPort?.postMessage({ type } satisfies BeatMessage);
}

async function run({ databaseUrl, beatMs, mainThreadStallMs }: BeatInput): Promise<void> {
  let tickedAtMs = performance.now();
  let stopped = false;
  const node = Promise.withResolvers<string | null>();
  parentPort?.on("message", (order: BeatOrder) => {
    tickedAtMs = performance.now();
    if (order === "stop") {
      stopped = true;
      node.resolve(null);
    } else if (order !== "tick") node.resolve(order.nodeId);
  });
  let client = await connect(databaseUrl).catch(() => null);
  say("ready");
  const nodeId = await node.promise;
  while (nodeId !== null && !stopped) {
    const startedMs = performance.now();
    try {
      client ??= await connect(databaseUrl);
      const stalled = startedMs - tickedAtMs > mainThreadStallMs;
      if (!stalled && !(await beat(client, nodeId))) {
        say("lost");
        stopped = true;
      }
    } catch {
      // Not awaited: on a dead network `end` never resolves, and the next beat is due.
      void client?.end().catch(() => {});
      client = null;
    }
    const restMs = Math.max(0, beatMs - (performance.now() - startedMs));
    await sleep(restMs);
  }
  // On a dead network `end` never resolves.
  await Promise.race([client?.end().catch(() => {}), sleep(timeoutMs)]);
  process.exit();
}

// Safe cast: only `openBeat` starts this thread, with exactly this input. In no thread it is only loaded, for the compile cache.
if (parentPort) void run(workerData as BeatInput);
