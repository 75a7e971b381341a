import { isAppError, keptBy } from "../../platform/index.ts";
import { sql } from "drizzle-orm";
import { findSchemaMismatch, probeDatabase, schema } from "../../db/index.ts";
import type { EngineName } from "../../engines.ts";
import { isConnectedNode, isPresent } from "../../nodes/index.ts";
import type { Services } from "../../services.ts";
import { probeDisk, requireFreeSpace } from "../../storage/index.ts";
import { cachedMs, createProbe, keepFor, type PartCheck, type Probed, watchFault } from "./probes.ts";

/**
 * GET /api/health: each part of the studio, how old that knowledge is, and why a part is not ok. 503 when the database is
 * away or takes no writes.
 */
export async function healthResponse(services: Services): Promise<Response> {
  const health = await readHealth(services);
  return Response.json(health, {
    status: health.status === "down" ? 503 : 200,
    headers: { "cache-control": "no-store" },
  });
}

/**
 * GET /api/ready: whether this process can answer requests; 503 with the reason until the database does, be it read-only,
 * and has the schema of this version, and while a bucket has failed for some seconds. It is asked beside the request.
 */
export async function readyResponse(services: Services): Promise<Response> {
  const { probes } = checkerOf(services);
  const { latencyMs, reason, value } = await probes.schema();
  const ofBucket = services.env.S3_BUCKET === undefined ? null : probes.lastingFault();
  const why = reason ?? value?.mismatch ?? ofBucket;
  return Response.json(
    { ready: why === null, latencyMs, reason: why },
    { status: why === null ? 200 : 503, headers: { "cache-control": "no-store" } },
  );
}

const storageKeptMs = 30_000;

/** Under load an answer waits for a connection: a database that is late is away once none has come for so long. */
const lateLastsMs = 15_000;

/** What a check found, or what is reported about it. */
interface Parts<Part> {
  readonly database: Part;
  readonly queue: Part;
  readonly storage: Part;
  readonly workers: Part & { readonly active: number };
  /** ComfyUI and IOPaint servers of the workers; ok while each engine that has servers has a healthy one. */
  readonly engines: Part & { readonly healthy: number; readonly all: number };
}

/**
 * A part as reported. `ageMs`: how old that is; of the workers the time since the last beat of any, of the servers since
 * the last beat of the worker that watches them; null when nothing is known.
 */
type PartHealth = Omit<PartCheck, "atMs"> & { readonly ageMs: number | null };

interface Health extends Parts<PartHealth> {
  /** `down` without a database that takes writes; `degraded` when any other part is not ok. */
  readonly status: "ok" | "degraded" | "down";
}

/** Checks every part that the studio needs, at most once in two seconds. Never throws. */
async function readHealth(services: Services): Promise<Health> {
  const checker = checkerOf(services);
  const nowMs = performance.now();
  if (checker.last === null || nowMs - checker.last.startedAtMs > cachedMs)
    checker.last = { startedAtMs: nowMs, checked: check(checker) };
  return healthOf(await checker.last.checked);
}

/** Ages are those of this moment, although the check may be older. */
function healthOf({ database, queue, storage, workers, engines }: Parts<PartCheck>): Health {
  const isWhole = [queue, storage, workers, engines].every(({ ok }) => ok);
  return {
    status: database.ok ? (isWhole ? "ok" : "degraded") : "down",
    database: withAge(database),
    queue: withAge(queue),
    storage: withAge(storage),
    workers: withAge(workers),
    engines: withAge(engines),
  };
}

function withAge<Part extends PartCheck>({ atMs, ...part }: Part) {
  return { ...part, ageMs: atMs === null ? null : Math.round(performance.now() - atMs) };
}

interface Checker {
  readonly probes: ReturnType<typeof createProbes>;
  /** The last check, or the one under way. */
  last: { readonly startedAtMs: number; readonly checked: Promise<Parts<PartCheck>> } | null;
}

const checkerOf = keptBy((services: Services): Checker => ({ probes: createProbes(services), last: null }));

async function check({ probes }: Checker): Promise<Parts<PartCheck>> {
  const [database, queue, storage, workers, engines] = await Promise.all([
    probes.database(),
    probes.queue(),
    probes.storage(),
    probes.workers(),
    probes.engines(),
  ]);
  return {
    database: partOf(database),
    queue: partOf(queue),
    storage: partOf(storage),
    workers: workersOf(workers),
    engines: enginesOf(engines, workers),
  };
}

const partOf = ({ value: _value, ...part }: Probed<unknown>): PartCheck => part;

/** The time of a beat, `seenMs` before the probe; null without one. */
const beatAt = ({ atMs }: PartCheck, seenMs: number | null) =>
  atMs === null || seenMs === null ? null : atMs - Math.max(0, seenMs);

function workersOf(probed: Probed<SeenWorkers>): Parts<PartCheck>["workers"] {
  const { value } = probed;
  if (value === null) return { ...partOf(probed), active: 0 };
  const ok = value.active > 0;
  const reason = value.seenMs === null ? "No worker has been started yet." : "No worker is connected.";
  return {
    ...partOf(probed),
    ok,
    active: value.active,
    atMs: beatAt(probed, value.seenMs),
    reason: ok ? null : `${reason} Jobs wait for the next one.`,
  };
}

function enginesOf(
  probed: Probed<SeenEngine[]>,
  { value: workers }: Probed<SeenWorkers>,
): Parts<PartCheck>["engines"] {
  const { value } = probed;
  if (value === null) return { ...partOf(probed), healthy: 0, all: 0 };
  const down = value.filter(({ healthy }) => healthy === 0).map(({ engine }) => engine);
  const why = workers?.active === 0 ? ": no worker that could see one is connected" : "";
  return {
    ...partOf(probed),
    ok: down.length === 0,
    healthy: sum(value, "healthy"),
    all: sum(value, "all"),
    atMs: value.length === 0 ? null : beatAt(probed, Math.max(...value.map(({ seenMs }) => seenMs))),
    reason: down.length === 0 ? null : `No ${down.join(" or ")} server is healthy${why}.`,
  };
}

const sum = (rows: readonly SeenEngine[], name: "healthy" | "all") =>
  rows.reduce((total, row) => total + row[name], 0);

function createProbes(services: Services) {
  const { db, bells, disk } = services;
  const away = "The database does not answer.";
  // Requests to a bucket cost money: asked rarely, and at once again after a failure.
  const reason = "The image store takes no files or returns none.";
  const probeStore = createProbe(services, { part: "storage", reason, ask: () => probeDisk(disk) });
  const store = keepFor(storageKeptMs, probeStore);
  const full = "The disk is almost full: new pictures are refused.";
  const askSpace = () => requireFreeSpace(services).catch(ignoreUnknown);
  const probeSpace = createProbe(services, { part: "storage", reason: full, ask: askSpace });
  return {
    schema: createProbe(services, {
      part: "database",
      reason: away,
      forgivenMs: lateLastsMs,
      ask: async () => ({ mismatch: await findSchemaMismatch(db) }),
    }),
    database: createProbe(services, {
      part: "database",
      reason: "The database does not answer or takes no writes.",
      forgivenMs: lateLastsMs,
      ask: () => probeDatabase(db),
    }),
    queue: createProbe(services, {
      part: "queue",
      reason: "The queue does not answer or takes no writes.",
      ask: () => bells.ping(),
    }),
    async storage() {
      const [taken, { ok, reason: why }] = await Promise.all([store(), probeSpace()]);
      return taken.ok ? { ...taken, ok, reason: why } : taken;
    },
    lastingFault: watchFault(services, store),
    workers: createProbe(services, { part: "workers", reason: away, ask: () => findWorkers(services) }),
    engines: createProbe(services, { part: "engines", reason: away, ask: () => findEngines(services) }),
  };
}

/** Where the space cannot be read, the probe of the store tells why. */
const ignoreUnknown = (error: unknown) => (isAppError(error) ? Promise.reject(error) : undefined);

interface SeenWorkers extends Record<string, unknown> {
  readonly active: number;
  /** Age of the last beat of any worker, also of one that ended; null before the first. */
  readonly seenMs: number | null;
}

/** SQL: the age of the newest beat, ms. */
const newestBeat = sql`(extract(epoch from now() - max(n.seen_at)) * 1000)::float8`;

async function findWorkers({ db }: Services): Promise<SeenWorkers> {
  const { nodes } = schema;
  const rows = await db.execute<SeenWorkers>(sql`
    select (select count(*) from ${nodes} n where ${isConnectedNode})::int as active,
      (select ${newestBeat} from ${nodes} n) as "seenMs"`);
  return rows[0] ?? { active: 0, seenMs: null };
}

interface SeenEngine extends Record<string, unknown> {
  readonly engine: EngineName;
  readonly healthy: number;
  readonly all: number;
  /** Age of what is known about the server that was not seen for the longest time. */
  readonly seenMs: number;
}

/** Servers by engine; one that several workers see counts once. Those of a worker that is away are not healthy. */
async function findEngines({ db }: Services): Promise<SeenEngine[]> {
  const { engineServers, nodes } = schema;
  return db.execute<SeenEngine>(sql`
    select engine, count(*)::int as "all", count(*) filter (where is_healthy)::int as healthy, max(seen_ms) as "seenMs"
    from (select s.engine, bool_or(s.state = 'healthy' and ${isConnectedNode}) as is_healthy, ${newestBeat} as seen_ms
      from ${engineServers} s join ${nodes} n on n.id = s.node_id
      where ${isPresent()} group by s.engine, s.url) servers
    group by engine order by engine`);
}
