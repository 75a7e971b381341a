import { eq } from "drizzle-orm";
import { type CloudPolicy, type Db, type Placement, schema, type Tx } from "../db/index.ts";
import { cloudQueue, type EngineName, enginesFor, type JobKind, type Need, needOf } from "../engines.ts";
import { AppError, type Config, type QueueNeeds } from "../platform/index.ts";
import { type Candidate, missingEngineReason } from "./candidates.ts";
import { chooseCandidate, chooseQueue, weigh } from "./choose.ts";
import { type LivePlace, livePlaces } from "./places.ts";
import { recallPlaces } from "./snapshot.ts";

/** The chosen queue and candidate of a request. */
export interface Placed {
  readonly candidate: Candidate;
  readonly queue: string;
  readonly placement: Placement;
}

export interface PlaceInput {
  readonly kind: JobKind;
  readonly candidates: readonly Candidate[];
  /** How old the places may be. */
  readonly maxAgeMs: number;
  /** The policy for this user and kind; asked for only where a provider could do the request. */
  readonly policy: () => Promise<CloudPolicy>;
}

/**
 * Places a request by the policy: the best live candidate, in the queue with room where it should be done first. Without a live one
 * the best candidate of a node of the last 24 hours or of the local engine, and the job waits there. Throws `no_engine`
 * when there is none.
 */
export async function place(
  db: Db,
  config: Config,
  { kind, candidates: all, maxAgeMs, policy: readPolicy }: PlaceInput,
): Promise<Placed> {
  const needs = all.map((candidate) => candidate.need);
  const places = await recallPlaces(db, needs, maxAgeMs);
  const hasCloud = places.some(({ queue, slots }) => queue === cloudQueue && slots > 0);
  const policy = hasCloud ? await readPolicy() : "own_first";
  const candidates = policy === "own_only" ? all.filter(({ engine }) => engine !== "cloud") : all;
  const candidate = chooseCandidate({ candidates, places, policy, config });
  if (!candidate) throw new AppError("no_engine", missingEngineReason(kind, candidates));
  const own = places.filter((place) => place.need === candidate.need);
  const live = own.filter((place) => place.slots > 0);
  const queue =
    (live.length > 0 ? chooseQueue(live, config) : own[0])?.queue ??
    (candidate.engine === "cloud" ? cloudQueue : leastDemandingQueue(config.queues));
  if (queue === null) throw new AppError("internal", "The configuration names no queue.");
  const chosen = { queue, need: candidate.need };
  const weighed = weigh({ candidates, places, chosen, config, policy });
  return { candidate, queue, placement: { chosen, isLive: live.length > 0, weighed } };
}

/**
 * When a user's job of a kind may go to a provider: as the user chose, else as the configuration says. A studio that uses
 * no provider for the kind does so for nobody.
 */
export async function readCloudPolicy(
  db: Db,
  { cloud }: Pick<Config, "cloud">,
  { userId, kind }: { readonly userId: string; readonly kind: JobKind },
): Promise<CloudPolicy> {
  const studio = cloud.policies[kind] ?? cloud.policy;
  if (studio === "own_only") return studio;
  return (await readUserPolicy(db, userId)) ?? studio;
}

/** What the user chose; null where the studio's policy applies. */
export async function readUserPolicy(db: Db, userId: string): Promise<CloudPolicy | null> {
  const { id, cloudPolicy } = schema.users;
  const [row] = await db.select({ cloudPolicy }).from(schema.users).where(eq(id, userId));
  return row?.cloudPolicy ?? null;
}

export async function setUserPolicy(db: Db, userId: string, policy: CloudPolicy | null): Promise<void> {
  await db.update(schema.users).set({ cloudPolicy: policy }).where(eq(schema.users.id, userId));
}

export interface DowngradeRequest {
  readonly kind: JobKind;
  readonly engine: EngineName;
  readonly workflow: string | null;
  readonly need: Need;
  readonly queue: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly roles: ReadonlySet<string>;
}

/** A place of lower speed or quality. */
export interface Downgrade {
  readonly queue: string;
  readonly need: Need;
  readonly engine: EngineName;
  readonly workflow: string | null;
}

/**
 * The place for a job that needs more memory than any graphics card has: the same workflow on a CPU queue, else another
 * engine for the kind on a CPU queue. Null when none is live.
 */
export async function findDowngrade(
  db: Db | Tx,
  config: Config,
  request: DowngradeRequest,
): Promise<Downgrade | null> {
  const { kind, engine, workflow, need, queue } = request;
  const isCpu = ({ queue: name }: LivePlace) => (config.queues[name]?.minVramGib ?? 0) === 0;
  const live = (await livePlaces(db)).filter(isCpu);
  const same = live.find((place) => place.need === need && place.queue !== queue);
  if (same) return { queue: same.queue, need, engine, workflow };
  for (const other of enginesFor(request).filter((name) => name !== "comfyui" && name !== engine)) {
    const otherNeed = needOf({ engine: other, kind, workflow: null });
    const place = live.find((candidate) => candidate.need === otherNeed);
    if (place) return { queue: place.queue, need: otherNeed, engine: other, workflow: null };
  }
  return null;
}

/**
 * The queue with the lowest requirements; on a tie the later one in the configuration, which lists the most demanding
 * queue first. Null without queues.
 */
export function leastDemandingQueue(queues: Config["queues"]): string | null {
  const sorted = Object.entries(queues)
    .toReversed()
    .toSorted(([, a], [, b]) => compareNeeds(a, b));
  return sorted[0]?.[0] ?? null;
}

function compareNeeds(a: QueueNeeds, b: QueueNeeds): number {
  return a.minVramGib - b.minVramGib || a.minCores - b.minCores || a.minMemoryGib - b.minMemoryGib;
}
