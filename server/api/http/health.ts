import { count, inArray, sql } from "drizzle-orm";
import { schema } from "../../db/index.ts";
import type { Services } from "../../services/index.ts";
import { probeDisk } from "../../storage/index.ts";

/** A part that answers later than this counts as down. */
const probeTimeoutMs = 3_000;

export interface PartHealth {
  readonly ok: boolean;
  readonly latencyMs: number;
}

export interface Health {
  /** `down` without a database; `degraded` when anything else does not answer or no worker is alive. */
  readonly status: "ok" | "degraded" | "down";
  readonly database: PartHealth;
  readonly queue: PartHealth;
  readonly storage: PartHealth;
  readonly workers: PartHealth & { readonly active: number };
}

async function probe<T>(services: Services, part: string, ask: () => Promise<T>) {
  const startedAtMs = performance.now();
  const latencyMs = () => Math.round(performance.now() - startedAtMs);
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(`no answer within ${probeTimeoutMs} ms`)), probeTimeoutMs);
  });
  try {
    const value = await Promise.race([ask(), late]);
    return { ok: true, latencyMs: latencyMs(), value };
  } catch (error) {
    services.log.warn({ err: error, part }, "health check failed");
    return { ok: false, latencyMs: latencyMs(), value: null };
  } finally {
    clearTimeout(timer);
  }
}

/** None alive counts as a warning only: pictures wait, nothing is lost. */
async function countWorkers({ db }: Services): Promise<number> {
  const { nodes } = schema;
  const rows = await db
    .select({ live: count() })
    .from(nodes)
    .where(inArray(nodes.state, ["active", "draining"]));
  return rows[0]?.live ?? 0;
}

/** Asks every part that the studio needs whether it answers. Never throws. */
export async function checkHealth(services: Services): Promise<Health> {
  const [database, queue, storage, workers] = await Promise.all([
    probe(services, "database", () => services.db.execute(sql`select 1`)),
    probe(services, "queue", () => services.bells.ping()),
    probe(services, "storage", () => probeDisk(services.disk)),
    probe(services, "workers", () => countWorkers(services)),
  ]);
  const active = workers.value ?? 0;
  const isWhole = queue.ok && storage.ok && active > 0;
  const part = ({ ok, latencyMs }: PartHealth): PartHealth => ({ ok, latencyMs });
  return {
    status: database.ok ? (isWhole ? "ok" : "degraded") : "down",
    database: part(database),
    queue: part(queue),
    storage: part(storage),
    workers: { ok: active > 0, latencyMs: workers.latencyMs, active },
  };
}

/** GET /api/health: 503 when the database is down. */
export async function healthResponse(services: Services): Promise<Response> {
  const health = await checkHealth(services);
  return Response.json(health, {
    status: health.status === "down" ? 503 : 200,
    headers: { "cache-control": "no-store" },
  });
}

/** GET /api/ready: whether this process can answer requests; 503 until the database does. */
export async function readyResponse(services: Services): Promise<Response> {
  const { ok, latencyMs } = await probe(services, "database", () => services.db.execute(sql`select 1`));
  return Response.json(
    { ready: ok, latencyMs },
    { status: ok ? 200 : 503, headers: { "cache-control": "no-store" } },
  );
}
