import { sql } from "drizzle-orm";
import { probeDatabase, schema } from "../../db/index.ts";
import { metricsText, readNodes, readOverview } from "../../monitoring/index.ts";
import { AppError, ruleOf } from "../../platform/index.ts";
import { silentAfterSeconds } from "../../scheduling/index.ts";
import type { Services } from "../../services.ts";
import { probeDisk } from "../../storage/index.ts";
import { classifyError, withRequestId } from "../requests.ts";
import { problemResponse, requireCaller } from "./route.ts";

/** GET /metrics: the figures of the admin pages as OpenMetrics, for an admin's API key (401 and 403 for others). */
export function metricsResponse(services: Services, request: Request): Promise<Response> {
  return withRequestId(request, () => answerOrRefuse(services, request));
}

async function answerOrRefuse(services: Services, request: Request): Promise<Response> {
  try {
    return await answer(services, request);
  } catch (error) {
    const appError = classifyError(error);
    if (ruleOf(appError.code).httpStatus >= 500)
      services.log.error({ code: appError.code, err: appError.cause ?? appError }, "metrics not read");
    return problemResponse(appError);
  }
}

const contentType = "application/openmetrics-text; version=1.0.0; charset=utf-8";

async function answer(services: Services, request: Request): Promise<Response> {
  const caller = await requireCaller(services, request);
  if (!caller.isAdmin) throw new AppError("forbidden");
  const nodes = readNodes(services);
  const overview = readOverview(services, { window: "1h", nodes });
  return new Response(metricsText(...(await Promise.all([overview, nodes]))), {
    headers: { "content-type": contentType, "cache-control": "no-store" },
  });
}

/** GET /api/health: 503 when the database is away or takes no writes. */
export async function healthResponse(services: Services): Promise<Response> {
  const health = await checkHealth(services);
  return Response.json(health, {
    status: health.status === "down" ? 503 : 200,
    headers: { "cache-control": "no-store" },
  });
}

/** GET /api/ready: whether this process can answer requests; 503 until the database does, be it read-only. */
export async function readyResponse(services: Services): Promise<Response> {
  const { ok, latencyMs } = await checkerOf(services).probes.answers();
  return Response.json(
    { ready: ok, latencyMs },
    { status: ok ? 200 : 503, headers: { "cache-control": "no-store" } },
  );
}

/** A part that answers later than this counts as down. */
const probeTimeoutMs = 3_000;
/** Callers need no session, so their number must not become work: an answer is given out again for this long. */
const cachedMs = 2_000;

interface PartHealth {
  readonly ok: boolean;
  readonly latencyMs: number;
}

interface Health {
  /** `down` without a database that takes writes; `degraded` when any other part is not ok. */
  readonly status: "ok" | "degraded" | "down";
  readonly database: PartHealth;
  readonly queue: PartHealth;
  readonly storage: PartHealth;
  readonly workers: PartHealth & { readonly active: number };
  /** ComfyUI and IOPaint servers of the active workers; ok while each engine that has servers has a healthy one. */
  readonly engines: PartHealth & { readonly healthy: number; readonly all: number };
}

/** Checks every part that the studio needs, at most once in two seconds. Never throws. */
function checkHealth(services: Services): Promise<Health> {
  const checker = checkerOf(services);
  const nowMs = performance.now();
  if (checker.last === null || nowMs - checker.last.startedAtMs > cachedMs)
    checker.last = { startedAtMs: nowMs, health: check(checker) };
  return checker.last.health;
}

interface Checker {
  readonly probes: ReturnType<typeof createProbes>;
  /** The last answer, or the one under way. */
  last: { readonly startedAtMs: number; readonly health: Promise<Health> } | null;
}

const checkers = new WeakMap<Services, Checker>();

function checkerOf(services: Services): Checker {
  const checker = checkers.get(services) ?? { probes: createProbes(services), last: null };
  checkers.set(services, checker);
  return checker;
}

async function check({ probes }: Checker): Promise<Health> {
  const [database, queue, storage, workers, engines] = await Promise.all([
    probes.database(),
    probes.queue(),
    probes.storage(),
    probes.workers(),
    probes.engines(),
  ]);
  const part = ({ ok, latencyMs }: PartHealth): PartHealth => ({ ok, latencyMs });
  const active = workers.value ?? 0;
  const servers = engines.value ?? [];
  const parts = {
    queue: part(queue),
    storage: part(storage),
    workers: { ...part(workers), ok: active > 0, active },
    engines: {
      ...part(engines),
      ok: engines.ok && servers.every(({ healthy }) => healthy > 0),
      healthy: sum(servers, "healthy"),
      all: sum(servers, "all"),
    },
  };
  const isWhole = Object.values(parts).every(({ ok }) => ok);
  return {
    status: database.ok ? (isWhole ? "ok" : "degraded") : "down",
    database: part(database),
    ...parts,
  };
}

const sum = (rows: readonly EngineRow[], name: "healthy" | "all") =>
  rows.reduce((total, row) => total + row[name], 0);

function createProbes(services: Services) {
  const { db, bells, disk } = services;
  return {
    answers: createProbe(services, "database", () => db.execute(sql`select 1`)),
    database: createProbe(services, "database", () => probeDatabase(db)),
    queue: createProbe(services, "queue", () => bells.ping()),
    storage: createProbe(services, "storage", () => probeDisk(disk)),
    workers: createProbe(services, "workers", () => countWorkers(services)),
    engines: createProbe(services, "engines", () => countServers(services)),
  };
}

type Probe<T> = () => Promise<PartHealth & { readonly value: T | null }>;

/** A part asked by at most one question at a time: while a late one is under way, the next check waits for it. */
function createProbe<T>({ log }: Services, part: string, ask: () => Promise<T>): Probe<T> {
  let underWay: Promise<T> | null = null;
  return async () => {
    const startedAtMs = performance.now();
    const latencyMs = () => Math.round(performance.now() - startedAtMs);
    const { promise: late, reject } = Promise.withResolvers<never>();
    const timer = setTimeout(
      () => reject(new Error(`no answer within ${probeTimeoutMs} ms`)),
      probeTimeoutMs,
    );
    underWay ??= ask().finally(() => (underWay = null));
    try {
      const value = await Promise.race([underWay, late]);
      return { ok: true, latencyMs: latencyMs(), value };
    } catch (error) {
      log.warn({ err: error, part }, "health check failed");
      return { ok: false, latencyMs: latencyMs(), value: null };
    } finally {
      clearTimeout(timer);
    }
  };
}

const isAlive = sql`n.state in ('active', 'draining') and n.seen_at > now() - make_interval(secs => ${silentAfterSeconds})`;

async function countWorkers({ db }: Services): Promise<number> {
  const rows = await db.execute<{ live: number }>(
    sql`select count(*)::int as live from ${schema.nodes} n where ${isAlive}`,
  );
  return rows[0]?.live ?? 0;
}

type EngineRow = Record<string, unknown> & { readonly healthy: number; readonly all: number };

/** Servers by engine; one that several workers see counts once. */
async function countServers({ db }: Services): Promise<EngineRow[]> {
  const { engineServers, nodes } = schema;
  const rows = await db.execute<EngineRow>(sql`
    select count(*)::int as "all", count(*) filter (where is_healthy)::int as healthy
    from (select s.engine, bool_or(s.state = 'healthy') as is_healthy from ${engineServers} s
      join ${nodes} n on n.id = s.node_id where ${isAlive} group by s.engine, s.url) servers
    group by engine`);
  return rows;
}
