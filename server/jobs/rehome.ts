import { sql, type SQL } from "drizzle-orm";
import { type Asked, missedSince, type PlacedBecause, schema } from "../db/index.ts";
import { cloudEngine, cloudQueue } from "../engines.ts";
import { isActive } from "../nodes/index.ts";
import { isAppError, keptBy } from "../platform/index.ts";
import { type Quote, readQuote } from "../scheduling/index.ts";
import type { Services } from "../services.ts";
import { scheduleDispatch } from "./dispatch.ts";
import { amend, hint, type Job, jobFromRow, transition } from "./job.ts";
import { recallInputs } from "./pictures.ts";
import { resolveParams, sizeClassesOf, unusedIn } from "./params.ts";
import { parseSubmit } from "./request.ts";
import { readRequest } from "./retry.ts";

/** Another place for a job: the columns to set and the data of its event. */
export interface OtherPlace {
  readonly queue: string;
  readonly set: Partial<
    Pick<
      Job,
      "queue" | "need" | "engine" | "workflow" | "model" | "params" | "placement" | "sizeClass" | "estimate"
    >
  >;
  readonly data: Readonly<Record<string, unknown>>;
}

interface Again {
  readonly quote: Quote;
  /** What the place takes, and what the request gave beside it. */
  readonly params: Record<string, unknown>;
  readonly unused: ReturnType<typeof unusedIn>;
  readonly sizeClass: number;
}

interface Bounds {
  readonly ownOnly: boolean;
  /** It came longer ago than jobs wait in the own line (`overflowAfterS`): it goes to a provider, or stays with one. */
  readonly hasWaited?: boolean;
}

/** Where the job would go now; null when it could go nowhere. */
export async function placeAgain(
  services: Services,
  job: Job,
  { ownOnly, hasWaited }: Bounds,
): Promise<Again | null> {
  const { db, config } = services;
  try {
    const request = parseSubmit({
      ...(await readRequest(services, job)),
      ownOnly: ownOnly || job.ownOnly,
      ...(job.agreed ? { agreed: job.agreed } : {}),
    });
    const inputs = await recallInputs(db, job.ownerId, request);
    const sizeClassOf = sizeClassesOf(request, inputs);
    const asker = { userId: job.ownerId, isGuest: false, keyId: job.apiKeyId ?? undefined };
    const maxAgeMs = config.timing.placesMs;
    const quote = await readQuote(services, {
      request,
      asker,
      maxAgeMs,
      sizeClassOf,
      hasWaited,
      tier: job.tier,
    });
    const { candidate } = quote.placed;
    const params = resolveParams(request, candidate);
    return { quote, params, unused: unusedIn(request.params, params), sizeClass: sizeClassOf(candidate) };
  } catch (error) {
    if (!isAppError(error)) throw error;
    services.log.debug({ err: error, jobId: job.id }, "the job has no other place");
    return null;
  }
}

/** Jobs of older versions; none of them is placed again. */
const noAsked: Asked = { engine: null, workflow: null, params: [] };

export function otherPlace(
  job: Job,
  { quote, params, unused, sizeClass }: Again,
  because?: PlacedBecause,
): OtherPlace {
  const { candidate, queue, placement } = quote.placed;
  const { engine, workflow, model, need } = candidate;
  const { unused: _before, ...asked } = job.placement?.asked ?? noAsked;
  const why = because ?? placement.because;
  return {
    queue,
    set: {
      queue,
      need,
      engine,
      workflow: workflow?.name ?? null,
      model: model?.id ?? null,
      params,
      placement: { ...placement, asked: { ...asked, ...unused }, ...(why ? { because: why } : {}) },
      sizeClass,
      estimate: withoutMean(job.estimate),
    },
    data: { from: job.need, to: need, because: why },
  };
}

/** Columns of a job that neither a worker nor a provider holds. */
export const atRest = {
  nodeId: null,
  providerAttemptId: null,
  progress: 0,
  stage: null,
  notBefore: null,
  server: null,
  externalId: null,
} as const satisfies Partial<Job>;

/** What was expected of another place teaches nothing about this one. */
function withoutMean(estimate: Job["estimate"]): Job["estimate"] {
  if (!estimate) return null;
  const { meanMs: _expected, ...rest } = estimate;
  return rest;
}

/** Jobs that one sweep looks at; the next ones have their turn in the next, so that those that may not move hold up none. */
const lookedAt = 20;
/** Ids sort by time. */
const firstId = "00000000-0000-0000-0000-000000000000";
const lastLookOf = keptBy((_db: Services["db"]) => ({ afterId: firstId }));

/**
 * Places waiting jobs again whose place a request left to the studio. A job that has waited in the own line for
 * `overflowAfterS` goes to a provider, where policy, agreement, price and caps allow it, and none has tried it. One that waits for
 * a provider goes home when a cap, or the state of the providers, holds it up, or, within `overflowAfterS` of its request, the
 * own line has become short; later it would wait twice.
 */
export async function placeWaiting(services: Services): Promise<void> {
  const { jobs, nodes, nodeQueues, users } = schema;
  const { db, config } = services;
  // A clock that is set ahead sends no job to a provider.
  const limit = sql`(interval '1 second' * ${config.cloud.overflowAfterS} + ${missedSince(jobs.createdAt)})`;
  const asked = sql`${jobs.placement} -> 'asked'`;
  const look = lastLookOf(db);
  const rows = await db.execute<Record<string, unknown>>(sql`
    select ${jobs}.*, ${jobs.createdAt} < now() - ${limit} as has_waited from ${jobs}
    where ${jobs.status} in ('pending', 'queued') and ${asked} is not null and ${asked} ->> 'engine' is null
      and ${asked} ->> 'workflow' is null and ${asked} ->> 'model' is null
      and case when ${jobs.engine} = ${cloudEngine.name} then true else ${isStuckAtHome(limit)} end
      and exists (select from ${nodeQueues} q join ${nodes} n on n.id = q.node_id
        where q.queue = ${cloudQueue} and q.slots > 0 and ${isActive()})
      and not exists (select from ${users} u where u.id = ${jobs.ownerId} and u.is_anonymous)
      and ${jobs.id} > ${look.afterId}
    order by ${jobs.id} limit ${lookedAt}`);
  const last = rows.at(-1);
  look.afterId = rows.length < lookedAt || !last ? firstId : jobFromRow(last).id;
  for (const row of rows) await moveWaiting(services, jobFromRow(row), row["has_waited"] === true);
}

/** SQL condition: the job has waited in the own line for long, and may leave it; a server that may hold its prompt keeps it. */
function isStuckAtHome(limit: SQL): SQL {
  const { jobs, jobEvents, providerAttempts } = schema;
  return sql`(${jobs.createdAt} < now() - ${limit} and ${jobs.charged} = 0 and ${jobs.externalId} is null and not ${jobs.ownOnly}
    and coalesce(${jobs.agreed} ->> 'ownOnly', 'false') = 'false'
    and not exists (select from ${providerAttempts} a where a.job_id = ${jobs.id})
    and not exists (select from ${jobEvents} e where e.job_id = ${jobs.id} and e.type = 'went_home' and e.created_at > now() - ${limit}))`;
}

async function moveWaiting(services: Services, job: Job, hasWaited: boolean): Promise<void> {
  const again = await placeAgain(services, job, { ownOnly: false, hasWaited });
  if (!again) return;
  const { candidate, isSeen } = again.quote.placed;
  const wasCloud = job.engine === cloudEngine.name;
  if ((candidate.engine === cloudEngine.name) === wasCloud || !isSeen) return;
  const { set, data } = otherPlace(job, again);
  const event = wasCloud ? "went_home" : "overflowed";
  // A claim or a change meanwhile raised the revision.
  const where = sql`id = ${job.id} and revision = ${job.revision}`;
  const moved =
    job.status === "pending"
      ? await amend(services.db, { where: sql`${where} and status = 'pending'`, set, event, data })
      : await transition(services.db, { from: ["queued"], to: "pending", where, set, event, data });
  if (!moved) return;
  hint(services, [moved]);
  services.log.info({ jobId: job.id, ...data }, "a waiting job was placed again");
  await scheduleDispatch(services, moved.queue);
}
