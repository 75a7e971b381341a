import { createMailbox, feedOf, watch } from "../live/index.ts";
import type { Services } from "../services.ts";
import { isFinal } from "./job.ts";
import { jobSource } from "./live.ts";
import {
  get,
  type JobAddress,
  type JobEventView,
  type JobsUpdate,
  type JobView,
  readEvents,
} from "./read.ts";

const waitMs = 1_000;
/** The feed tells of each change; should it ever not, a reader finds out after this time. */
const unaskedReadMs = 15_000;

interface NewsOptions {
  readonly ownerId: string;
  readonly signal: AbortSignal;
  /** By default every job of the owner. */
  readonly isOf?: (jobId: string) => boolean;
  /** Whether the next read may not wait for news: something changes that no job tells of. */
  readonly isRestless?: () => boolean;
}

/**
 * When to read again for a reader of the owner's jobs: `read` at once and after each change of them, and null after every
 * second between, to keep the connection alive.
 */
export async function* newsOf(
  services: Services,
  { ownerId, signal, isOf = () => true, isRestless = () => false }: NewsOptions,
): AsyncGenerator<"read" | null> {
  const leaving = new AbortController();
  const stopped = AbortSignal.any([signal, leaving.signal]);
  const mailbox = createMailbox<JobView, JobsUpdate>({ waitMs, signal: stopped });
  const remove = feedOf(services).add(jobSource, {
    ownerId,
    wantsLive: false,
    end: () => leaving.abort(),
    push: (event) => {
      if (event.type === "rows" && event.rows.some(({ mark }) => isOf(mark.id)))
        mailbox.put({ ...event, source: jobSource });
    },
  });
  try {
    while (!stopped.aborted) {
      yield "read";
      const readUntilMs = performance.now() + (isRestless() ? waitMs : unaskedReadMs);
      while ((await mailbox.take()).length === 0 && performance.now() < readUntilMs && !stopped.aborted)
        yield null;
    }
  } finally {
    mailbox.close();
    remove();
  }
}

/**
 * The events of one job after a revision, each once and in order, until the job ends. A client resumes with the last
 * revision it received. Yields null after a second without an event, to keep the connection alive.
 */
export async function* streamEvents(
  services: Services,
  { ownerId, id, after, signal }: JobAddress & { after: number; signal: AbortSignal },
): AsyncGenerator<JobEventView | null> {
  await get(services, { ownerId, id });
  let revision = after;
  for await (const news of newsOf(services, { ownerId, signal, isOf: (jobId) => jobId === id })) {
    if (news === null) {
      yield null;
      continue;
    }
    const events = await readEvents(services, { id, after: revision });
    yield* events;
    const last = events.at(-1);
    revision = last?.revision ?? revision;
    const ended = last ? isFinal(last.status) : await hasEnded(services, { ownerId, id }, revision);
    if (ended) return;
    if (!last) yield null;
  }
}

type Progress = Extract<JobsUpdate, { type: "progress" }>;

interface Following {
  readonly ownerId: string;
  readonly ids: readonly string[];
  readonly signal: AbortSignal;
  /** Asks the workers for previews, which come with the progress. */
  readonly wantsLive: boolean;
}

/**
 * Each of these jobs once it has ended, in the order of their ends, and their progress between. Yields null after ten
 * seconds without either, to keep the connection alive. Throws `not_found`, also for jobs of another owner.
 */
export async function* followJobs(
  services: Services,
  { ownerId, ids, signal, wantsLive }: Following,
): AsyncGenerator<Progress | { readonly type: "ended"; readonly job: JobView } | null> {
  const open = new Set(ids);
  const endedAmong = (views: readonly JobView[]) =>
    views
      .filter(({ id, status }) => isFinal(status) && open.delete(id))
      .map((job) => ({ type: "ended" as const, job }));
  const asked = await Promise.all(ids.map((id) => get(services, { ownerId, id })));
  yield* endedAmong(asked);
  if (open.size === 0) return;
  for await (const update of watch(services, [jobSource], { ownerId, since: null, signal, wantsLive })) {
    if (update.type === "alive") yield null;
    else if (update.type !== "progress") yield* endedAmong(update.jobs);
    else if (open.has(update.jobId)) yield update;
    if (open.size === 0) return;
  }
}

/** Whether no event can follow: the job has ended and the story was pruned, or the client has the last revision. */
async function hasEnded(services: Services, address: JobAddress, revision: number): Promise<boolean> {
  const job = await get(services, address);
  return isFinal(job.status) && job.revision <= revision;
}
