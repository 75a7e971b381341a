import { randomBytes } from "node:crypto";
import { rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { v7 } from "uuid";
import { type Estimate, type JobStatus, type Placement, schema, tiers } from "@atelier/server/db";
import {
  type EngineName,
  type InputRole,
  isPlainKind,
  type JobKind,
  type Need,
} from "@atelier/server/engines";
import { storeOutput } from "@atelier/server/images";
import type { JobEventType } from "@atelier/server/jobs";
import { type ErrorCode, errorRules } from "@atelier/server/platform";
import type { Services } from "@atelier/server/services";

const { jobs, jobEvents, jobInputs, jobOutputs, images } = schema;

/** Where a job runs, or ran. */
export interface Place {
  readonly engine: EngineName;
  readonly need: Need;
  readonly queue: string;
  readonly workflow?: string;
  readonly model?: string;
  readonly server?: string;
}

/** One job as it is to be found, whatever would have led there. */
export interface Plan {
  readonly ownerId: string;
  readonly kind: JobKind;
  readonly status: JobStatus;
  readonly place: Place;
  readonly params: Readonly<Record<string, unknown>>;
  readonly createdAt: Date;
  readonly waitMs: number;
  readonly runMs: number;
  readonly nodeId: string;
  readonly inputs?: Partial<Record<InputRole, string>>;
  /** PNG; a completed job has one. */
  readonly result?: Buffer;
  readonly error?: ErrorCode;
  readonly facts?: Readonly<Record<string, unknown>>;
}

interface Step {
  readonly event: JobEventType;
  readonly status: JobStatus;
}

const created: Step = { event: "created", status: "pending" };
const queued: Step = { event: "queued", status: "queued" };
const claimed: Step = { event: "claimed", status: "waiting_for_engine" };
const started: Step = { event: "started", status: "processing" };

/** The story that leads to each status. */
const stories = {
  pending: [created],
  queued: [created, queued],
  waiting_for_engine: [created, queued, claimed],
  processing: [created, queued, claimed, started],
  completed: [created, queued, claimed, started, { event: "completed", status: "completed" }],
  failed: [created, queued, claimed, started, { event: "failed", status: "failed" }],
  cancelled: [created, queued, { event: "cancelled", status: "cancelled" }],
} as const satisfies Record<JobStatus, readonly Step[]>;

/** An id that sorts as one of that moment does. */
export const idAt = (at: Date): string => v7({ msecs: at.getTime(), random: randomBytes(16) });

/** When each step happened. */
function timesOf({ createdAt, waitMs, runMs }: Plan): Readonly<Partial<Record<JobEventType, Date>>> {
  const after = (ms: number) => new Date(createdAt.getTime() + ms);
  const endedAt = after(waitMs + runMs);
  return {
    created: createdAt,
    queued: after(Math.min(20, waitMs)),
    claimed: after(waitMs),
    started: after(waitMs),
    completed: endedAt,
    failed: endedAt,
    cancelled: endedAt,
  };
}

function placementOf({ place: { queue, need } }: Plan): Placement {
  return {
    chosen: { queue, need },
    isLive: true,
    because: need.startsWith("cloud/") ? "no_own" : "own",
    weighed: [{ queue, need, waitS: 3, refused: null }],
  };
}

/** What the last run left in the row; a job that no worker had has none of it. */
function runOf({ status, nodeId, place: { server }, error, facts }: Plan) {
  const left = {
    attempt: 1,
    nodeId,
    server: server ?? null,
    facts: facts ? { ...facts } : null,
    ...(error
      ? {
          charged: errorRules[error].charged ? 1 : 0,
          errorCode: error,
          errorMessage: errorRules[error].message,
        }
      : {}),
  };
  if (status === "processing") return { ...left, progress: 0.4, stage: "sampling" };
  return status === "completed" ? { ...left, progress: 1 } : left;
}

function estimateOf({ waitMs, runMs }: Plan): Estimate {
  const around = (ms: number) => [Math.round(ms / 2), ms * 2] as const;
  return {
    position: 1,
    isLive: true,
    waitMs: around(waitMs),
    quality: "measured",
    runMs: around(runMs),
    runs: 40,
  };
}

function rowOf(id: string, plan: Plan): typeof jobs.$inferInsert {
  const { ownerId, kind, status, place, params, inputs = {}, createdAt } = plan;
  const steps: readonly Step[] = stories[status];
  const times = timesOf(plan);
  const when = (...events: JobEventType[]) => {
    const step = steps.find(({ event }) => events.includes(event));
    return step ? times[step.event] : null;
  };
  const endedAt = when("completed", "failed", "cancelled");
  return {
    id,
    ownerId,
    kind,
    status,
    tier: tiers.normal,
    params: { ...params },
    queue: place.queue,
    engine: place.engine,
    workflow: place.workflow ?? null,
    model: place.model ?? null,
    // Keeps an open job on own machines: a worker must not send it to a provider, which would cost money.
    ownOnly: !endedAt,
    need: place.need,
    placement: placementOf(plan),
    estimate: estimateOf(plan),
    inputCount: Object.keys(inputs).length,
    revision: steps.length,
    ...(steps.includes(claimed) ? runOf(plan) : {}),
    createdAt,
    queuedAt: when("queued"),
    claimedAt: when("claimed"),
    startedAt: when("started"),
    endedAt,
  };
}

function eventsOf(jobId: string, plan: Plan): (typeof jobEvents.$inferInsert)[] {
  const times = timesOf(plan);
  const dataOf = (event: JobEventType) => {
    if (event === "claimed") return { nodeId: plan.nodeId };
    return event === "failed" && plan.error ? { code: plan.error } : {};
  };
  return stories[plan.status].map(({ event, status }, at) => ({
    jobId,
    revision: at + 1,
    type: event,
    status,
    data: dataOf(event),
    createdAt: times[event] ?? plan.createdAt,
  }));
}

/** Stores the files of a result as a worker does. */
async function storeResult(services: Services, id: string, { ownerId, kind, result }: Plan) {
  if (!result) return null;
  const file = path.join(os.tmpdir(), `${id}.png`);
  try {
    await writeFile(file, result);
    return await storeOutput(services, {
      ownerId,
      jobId: id,
      attempt: 1,
      kind,
      // These are made of uploads.
      nothingGenerated: isPlainKind(kind),
      position: 0,
      path: file,
      mime: "image/png",
    });
  } finally {
    await rm(file, { force: true });
  }
}

/** Stores a job as if it had come to this status by itself: row, story, links and result. Returns its id and that of the result. */
export async function addJob(
  services: Services,
  plan: Plan,
): Promise<{ readonly id: string; readonly imageId: string | null }> {
  const id = idAt(plan.createdAt);
  const times = timesOf(plan);
  const output = await storeResult(services, id, plan);
  const createdAt = times.completed ?? plan.createdAt;
  const imageId = output ? idAt(createdAt) : null;
  const inputs = Object.entries(plan.inputs ?? {}) as [InputRole, string][];
  await services.db.transaction(async (tx) => {
    await tx.insert(jobs).values(rowOf(id, plan));
    await tx.insert(jobEvents).values(eventsOf(id, plan));
    if (inputs.length > 0)
      await tx.insert(jobInputs).values(inputs.map(([role, image]) => ({ jobId: id, role, imageId: image })));
    if (!output || !imageId) return;
    const { ownerId } = plan;
    await tx.insert(images).values({ ...output, id: imageId, ownerId, role: "result", jobId: id, createdAt });
    await tx.insert(jobOutputs).values({ jobId: id, position: 0, imageId });
  });
  return { id, imageId };
}
