import { pruneTalks } from "@atelier/server/assistant";
import { pruneAudit } from "@atelier/server/audit";
import { pruneDeliveries } from "@atelier/server/deliveries";
import { beginSteps, purgeBatches } from "@atelier/server/batches";
import { purgeBoards } from "@atelier/server/boards";
import { duplicateDuty, likenessDuty } from "@atelier/server/duplicates";
import { purgePresets } from "@atelier/server/presets";
import { purgeLinks } from "@atelier/server/links";
import {
  countNoted,
  dropOldSearchTexts,
  embedPictures,
  expireClientFiles,
  expireUploads,
  fillSearchTexts,
  orphanDuty,
  purgeDeleted,
} from "@atelier/server/images";
import {
  expireEphemeral,
  expireGuests,
  findOrphanedPrompts,
  pruneEvents,
  pruneKeys,
  pruneLogs,
  pruneSignIns,
  readAwaitedNeeds,
} from "@atelier/server/jobs";
import { clockDuty, doDuties, type Duty, pruneTurns } from "@atelier/server/leases";
import { rollUp } from "@atelier/server/monitoring";
import { pruneEnded, pruneNeeds, pruneOffers } from "@atelier/server/nodes";
import { pruneAttempts, sumPastDays } from "@atelier/server/providers";
import type { Services } from "@atelier/server/services";
import { sweepTempFolders, tempFolderMs } from "@atelier/server/storage";
import { pruneTelegram } from "@atelier/server/telegram";
import { purgeDeleted as purgeUsers } from "@atelier/server/users";
import { cancelPrompt, readQueuedPrompts } from "./clients/comfyui/index.ts";
import { jobOfRun } from "./engines/index.ts";
import { type Loop, startLoop } from "./base/loop.ts";
import type { ServerPool, ServerState } from "./servers/index.ts";

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

/** Recurring work that one worker of the studio does at a time. */
const duties: readonly Duty[] = [
  // These remove rows with their files; the sweep of the store removes files without rows.
  { name: "expired results", everyMs: minuteMs, run: expireEphemeral },
  { name: "expired files of clients", everyMs: minuteMs, run: expireClientFiles },
  { name: "deleted pictures", everyMs: minuteMs, run: purgeDeleted },
  { name: "expired uploads", everyMs: minuteMs, run: expireUploads },
  { name: "search index", everyMs: minuteMs, run: ({ db }) => fillSearchTexts(db) },
  { name: "old search texts", everyMs: 6 * hourMs, run: ({ db }) => dropOldSearchTexts(db) },
  { name: "counts of months", everyMs: minuteMs, run: countNoted },
  { name: "expired guests", everyMs: minuteMs, run: expireGuests },
  { name: "old events of jobs", everyMs: minuteMs, run: pruneEvents },
  { name: "old log lines of jobs", everyMs: minuteMs, run: pruneLogs },
  { name: "old idempotency keys", everyMs: minuteMs, run: pruneKeys },
  { name: "old sign-ins", everyMs: minuteMs, run: pruneSignIns },
  { name: "ended nodes", everyMs: minuteMs, run: pruneEnded },
  { name: "old needs", everyMs: minuteMs, run: pruneNeeds },
  { name: "old offers", everyMs: minuteMs, run: pruneOffers },
  { name: "old attempts of providers", everyMs: minuteMs, run: pruneAttempts },
  { name: "sums of past days", everyMs: minuteMs, run: sumPastDays },
  // Beside the process that completed the job before, which may have died.
  { name: "steps of batches", everyMs: 5_000, run: (services) => beginSteps(services) },
  { name: "old deliveries", everyMs: minuteMs, run: pruneDeliveries },
  { name: "deleted batches", everyMs: minuteMs, run: purgeBatches },
  { name: "removed boards", everyMs: minuteMs, run: purgeBoards },
  likenessDuty,
  { name: "removed presets", everyMs: minuteMs, run: purgePresets },
  { name: "ended links", everyMs: minuteMs, run: purgeLinks },
  { name: "deleted users", everyMs: minuteMs, run: purgeUsers },
  { name: "hourly figures", everyMs: minuteMs, run: rollUp },
  { name: "old conversations", everyMs: 6 * hourMs, run: pruneTalks },
  { name: "old entries of the audit log", everyMs: hourMs, run: pruneAudit },
  { name: "forgotten turns", everyMs: 24 * hourMs, run: pruneTurns },
  { name: "old messages of Telegram", everyMs: hourMs, run: pruneTelegram },
];

/** How often a worker sweeps its own temporary folders and looks whether the store is to be swept. */
const storeLookMs = 15 * minuteMs;

/** Starts the recurring work; the sweep of the store and the archivist take long, so each has its own loop. */
export function startDuties(services: Services): Pick<Loop, "stop"> {
  const stopped = new AbortController();
  const { signal } = stopped;
  const loops = [
    startLoop(services.log, "duties", () => doDuties(services, duties, { signal })),
    // What takes long among the others would keep it from looking.
    startLoop(services.log, "clock", () => doDuties(services, [clockDuty], { signal })),
    startLoop(services.log, "store", async () => {
      await sweepTempFolders(services.env, tempFolderMs(services.config));
      await doDuties(services, [orphanDuty(services)], { signal });
      return storeLookMs;
    }),
    // Apart, since it decodes thumbnails for some seconds.
    startLoop(services.log, "duplicates", () => doDuties(services, [duplicateDuty], { signal })),
    startLoop(services.log, "archivist", createArchiving(services, signal)),
    startLoop(services.log, "picture vectors", createPictureVectors(services, signal)),
    startLoop(services.log, "descriptions", createDescriptions(services, signal)),
  ];
  return {
    async stop() {
      stopped.abort(new Error("the process stops"));
      await Promise.all(loops.map((loop) => loop.stop()));
    },
  };
}

/** How often a worker looks whether the archivist is due; one of the installation then works. */
const archiveLookMs = minuteMs;

/** Makes memories of ended talks at their times, and vectors of what has none yet. */
function createArchiving(services: Services, signal: AbortSignal): () => Promise<number> {
  let isFirst = true;
  return async () => {
    // Not at the start of a worker, which has better things to do then.
    if (isFirst) {
      isFirst = false;
      return archiveLookMs;
    }
    const { archive, embedMissing } = await import("@atelier/server/assistant/stages");
    const made = await archive(services, { signal, isForced: false });
    if (made && made.parts > 0) services.log.info(made, "talks were archived");
    const embedded = await embedMissing(services, { signal, isForced: false });
    if (embedded) services.log.info({ embedded }, "vectors of messages and memories were made");
    return archiveLookMs;
  };
}

const pictureLookMs = 15_000;
const allPicturesMs = 10 * minuteMs;

/** Makes vectors of new pictures soon after them, and now and then of all that have none. */
function createPictureVectors(services: Services, signal: AbortSignal): () => Promise<number> {
  let fullAtMs = performance.now() - allPicturesMs + pictureLookMs;
  return async () => {
    const isRecent = performance.now() - fullAtMs < allPicturesMs;
    const made = await embedPictures(services, { signal, isRecent }).catch((error: unknown) => {
      if (signal.aborted) throw error;
      services.log.warn(
        { err: error },
        "no vectors of pictures can be made; it is tried again in ten minutes",
      );
      return "failed" as const;
    });
    // A model that cannot run would start a process again and again.
    if (made === "failed") return allPicturesMs;
    if (made !== null && !isRecent) fullAtMs = performance.now();
    if (made) services.log.info({ made }, "vectors of pictures were made");
    return pictureLookMs;
  };
}

/** Has new pictures without words described soon after them, and now and then all of them. */
function createDescriptions(services: Services, signal: AbortSignal): () => Promise<number> {
  // Most installations have no such model, and need no packages of models for it.
  if (services.env.LLM_VISION_MODEL === undefined) return () => Promise.resolve(allPicturesMs);
  let fullAtMs = performance.now() - allPicturesMs + pictureLookMs;
  return async () => {
    const isRecent = performance.now() - fullAtMs < allPicturesMs;
    const { describePictures } = await import("@atelier/server/assistant/stages");
    const made = await describePictures(services, { signal, isRecent }).catch((error: unknown) => {
      if (signal.aborted) throw error;
      services.log.warn({ err: error }, "pictures cannot be described now, it is tried again later");
      return null;
    });
    if (made?.isWhole === true && !isRecent) fullAtMs = performance.now();
    if (made && made.described > 0)
      services.log.info({ described: made.described }, "pictures were described");
    return pictureLookMs;
  };
}

/** Reports to the pool what open jobs wait for, so that its probes soon find a model that was added. */
export function startAwaiting(services: Services, pool: Pick<ServerPool, "setAwaited">): Loop {
  return startLoop(services.log, "awaited", async () => {
    pool.setAwaited(await readAwaitedNeeds(services));
    return services.config.timing.probeMs;
  });
}

const orphanedPromptsMs = 10_000;
const cancelMostMs = 5_000;

type Input = Pick<Services, "db" | "log">;

/** Cancels, every few seconds, prompts on ComfyUI servers whose job is over or runs elsewhere. */
export function startOrphanedPrompts(services: Input, pool: ServerPool): Loop {
  return startLoop(services.log, "orphaned prompts", async () => {
    await cancelOrphanedPrompts(services, pool);
    return orphanedPromptsMs;
  });
}

/** One pass over all servers that have more prompts than this node's own job. */
export async function cancelOrphanedPrompts(services: Input, pool: ServerPool): Promise<void> {
  const asked = pool.list().filter(hasOthers);
  await Promise.all(
    asked.map((server) =>
      cancelOrphansOn(services, pool, server).catch((error: unknown) =>
        services.log.debug({ err: error, server: server.label }, "prompts of a server not read"),
      ),
    ),
  );
}

function hasOthers({ engine, state, jobId, queueLength }: ServerState): boolean {
  return engine === "comfyui" && state !== "down" && (queueLength ?? 0) > (jobId === null ? 0 : 1);
}

async function cancelOrphansOn(
  services: Input,
  pool: ServerPool,
  { url, label }: ServerState,
): Promise<void> {
  const address = pool.addressOf(url);
  if (!address) return;
  const signal = AbortSignal.timeout(cancelMostMs);
  const queued = await readQueuedPrompts(address, { signal });
  const ours = queued.flatMap((prompt) => {
    const jobId = jobOfRun(prompt);
    return jobId === null ? [] : [{ jobId, promptId: prompt.promptId }];
  });
  for (const { jobId, promptId } of await findOrphanedPrompts(services, ours)) {
    services.log.info({ server: label, jobId }, "orphaned prompt cancelled");
    await cancelPrompt(address, promptId, { signal });
  }
}
