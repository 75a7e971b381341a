import { sql } from "drizzle-orm";
import { type Agreed, type Estimate, schema } from "../db/index.ts";
import type { EngineName } from "../engines.ts";
import { toAppError } from "../platform/index.ts";
import {
  noteOf,
  onDemandQueues,
  type Quote,
  readQuote,
  readWaits,
  startingWait,
  startMsOf,
  unservedSince,
  toEstimate,
  type Wait,
} from "../scheduling/index.ts";
import type { Services } from "../services.ts";
import { currentWords } from "../words.ts";
import { agreementTo, type CloudQuote, readCloudQuote } from "./agreement.ts";
import { readInputs } from "./pictures.ts";
import { withoutShape } from "./shape.ts";
import { type Job, jobFromRow } from "./job.ts";
import { resolveParams, sizeClassesOf } from "./params.ts";
import { parseSubmit, type SubmitRequest } from "./request.ts";
import type { Submitter } from "./draft.ts";

/** The outcome that a request would have now. */
export type EstimateAnswer =
  | (Estimate & {
      readonly isPossible: true;
      /** Why it cannot start now; null when it can. */
      readonly reason: string | null;
      readonly awaits: Wait["awaits"];
      /** Why a provider makes it although there are own machines, or why none does; null where nothing has to be said. */
      readonly note: string | null;
      readonly engine: EngineName;
      readonly workflow: string | null;
      readonly queue: string;
      /** Where a provider would get the pictures; null for own machines. */
      readonly cloud: CloudQuote | null;
      /** US dollars, 0 on own machines; null when no source states it. */
      readonly priceUsd: number | null;
      /** What a submit sends back to get this and nothing dearer; null where the person has to name a maximum. */
      readonly agreed: Agreed | null;
    })
  | { readonly isPossible: false; readonly reason: string };

/** A mask that is not painted yet is named by its picture, whose size it will have: it counts as a mask, and is not read. */
function withoutStandIn(request: SubmitRequest): SubmitRequest {
  const { mask, ...inputs } = request.inputs;
  if (mask === undefined || !Object.values(inputs).includes(mask)) return request;
  return { ...request, inputs };
}

/**
 * Whether and where a request can run, with its expected times; stores nothing. Its mask may be the picture itself while
 * none is painted. Throws `bad_request`, `not_found`.
 */
export async function estimate(
  services: Services,
  input: unknown,
  submitter: Submitter,
): Promise<EstimateAnswer> {
  const asked = parseSubmit(input);
  const inputs = await readInputs(services.db, submitter.userId, withoutStandIn(asked));
  const request = withoutShape(asked, inputs);
  const sizeClassOf = sizeClassesOf(request, inputs);
  const quote = await readQuote(services, { request, asker: submitter, maxAgeMs: 0, sizeClassOf }).catch(
    refusal,
  );
  if ("isPossible" in quote) return quote;
  const { wait } = quote.placed;
  const { candidate, queue } = quote.placed;
  // Throws where the workflow refuses the settings.
  const params = resolveParams(request, candidate);
  const { model } = candidate;
  const cloud = model ? await readCloudQuote(services.db, { model, params }) : null;
  return {
    isPossible: true,
    reason: awayReason(wait),
    awaits: wait.awaits,
    note: noteOf(services.config, quote.placed),
    engine: candidate.engine,
    workflow: candidate.workflow?.name ?? null,
    queue,
    cloud,
    priceUsd: cloud === null ? 0 : cloud.priceUsd,
    agreed: agreementTo(cloud),
    ...toEstimate(wait),
  };
}

/** Turns `no_engine` and a reached cap into an answer; rethrows every other error. */
function refusal(error: unknown): (EstimateAnswer & { isPossible: false }) | Quote {
  const failure = toAppError(error);
  if (failure.code !== "no_engine" && failure.code !== "budget_exceeded") throw error;
  return { isPossible: false, reason: failure.message };
}

/** A waiting job with its position in the line. Times in ms. */
interface WaitingJob {
  readonly id: string;
  readonly position: number;
  readonly waitMs: readonly [low: number, high: number];
  readonly runMs: readonly [low: number, high: number];
  /** False while no live node can run it. */
  readonly isLive: boolean;
  readonly awaits: Wait["awaits"];
  readonly reason: string | null;
}

export interface Waiting {
  /** At most `shownJobs`, in the order of the line. */
  readonly items: readonly WaitingJob[];
  /** All waiting jobs of the owner. */
  readonly total: number;
}

const shownJobs = 30;

/** The first waiting jobs of an owner, in the order in which they will be served. */
export async function readWaiting(services: Services, ownerId: string): Promise<Waiting> {
  const { jobs } = schema;
  const since = unservedSince(sql`jobs.queue`, sql`jobs.created_at`, sql`jobs.need`);
  // Looked for only where something starts workers.
  const unservedMs =
    onDemandQueues(services.config).length === 0
      ? sql`0::float8`
      : sql`(extract(epoch from now() - ${since}) * 1000)::float8`;
  const result = await services.db.execute<Record<string, unknown>>(sql`
    select *, count(*) over () as total, ${unservedMs} as "unservedMs"
    from ${jobs} where owner_id = ${ownerId} and status in ('pending', 'queued')
    order by status desc, tier desc, owner_order, id limit ${shownJobs}`);
  if (result.length === 0) return { items: [], total: 0 };
  const own = result.map(jobFromRow);
  const waits = await readWaits(services.db, own.map(targetOf));
  const items = own.flatMap((job, at) => {
    const wait = waits[at];
    return wait
      ? [
          toWaiting(
            job,
            withStart(services, { queue: job.queue, passedMs: Number(result[at]?.["unservedMs"]) }, wait),
          ),
        ]
      : [];
  });
  return { items, total: Number(result[0]?.total) };
}

interface Unserved {
  readonly queue: string;
  /** Since its submit, or since a worker could last take it. */
  readonly passedMs: number;
}

/** The wait of a job whose queue is started on demand, from what has passed of it. */
function withStart({ config }: Services, { queue, passedMs }: Unserved, wait: Wait): Wait {
  const startMs = wait.isLive ? null : startMsOf(config, queue);
  return startMs === null ? wait : startingWait(wait, Math.max(0, startMs - passedMs));
}

function toWaiting(job: Job, wait: Wait): WaitingJob {
  const { position, isLive, waitMs, runMs } = toEstimate(wait);
  return { id: job.id, position, waitMs, runMs, isLive, awaits: wait.awaits, reason: awayReason(wait) };
}

function targetOf(job: Job) {
  const { queue, need, sizeClass, ownerId, tier, ownerOrder } = job;
  return { queue, need, sizeClass, ownerId, tier, ownerOrder, isQueued: job.status === "queued" };
}

const awayReason = ({ awaits }: Wait): string | null =>
  awaits === null ? null : currentWords().t(`reasons.awaits.${awaits}`);
