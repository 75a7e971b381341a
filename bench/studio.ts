import path from "node:path";
import { submit, type Job } from "@atelier/server/jobs";
import { startTestWorker } from "@atelier/testing/worker";
import { startComfyProcess } from "./comfy-process.ts";
import { openStage, type Backend, type Stage } from "./stage.ts";

/** One simulated server, the product's worker in a process of its own with that server, and services to submit with. */
export interface Studio {
  readonly stage: Stage;
  readonly serverUrl: string;
  /** Submits a picture of `steps` steps; its id. */
  accept(steps: number): Promise<string>;
  /** Resolves with the row once it has one of the statuses, as soon as a hint says so. */
  until(id: string, ...statuses: readonly Job["status"][]): Promise<StoryTimes>;
  close(): Promise<void>;
}

/** When each stage of a job began, epoch ms; null when it never did. */
export interface StoryTimes {
  readonly status: Job["status"];
  readonly createdAt: Date;
  readonly queuedAt: Date | null;
  readonly claimedAt: Date | null;
  readonly startedAt: Date | null;
  readonly endedAt: Date | null;
}

export const studioWorkflow = "t2i_sd15";
const hintMissedMs = 1_000;
const productConfig = path.join(import.meta.dirname, "../atelier.config.ts");

export async function openStudio(backend: Backend, { stepMs }: { stepMs: number }): Promise<Studio> {
  const stage = await openStage(backend);
  const server = await startComfyProcess({ stepMs });
  const env = { COMFYUI_URLS: server.url, ATELIER_CONFIG: productConfig };
  const worker = await startTestWorker(stage.services, { name: "bench", slots: 1, env });
  const { services, ownerId } = stage;
  await untilServed(stage);
  const read = async (id: string) => {
    const [row] = await stage.query<StoryTimes & { [name: string]: unknown }>(
      `select status, created_at as "createdAt", queued_at as "queuedAt", claimed_at as "claimedAt",
        started_at as "startedAt", ended_at as "endedAt" from jobs where id = $1`,
      [id],
    );
    if (!row) throw new Error(`there is no job ${id}`);
    return row;
  };
  const waiting = new Map<string, () => void>();
  services.hints.subscribe((message) => {
    if (message.type === "jobs") for (const { jobId } of message.jobs) waiting.get(jobId)?.();
  });
  return {
    stage,
    serverUrl: server.url,
    async accept(steps) {
      const params = { prompt: "a red chair", steps };
      const request = { kind: "text_to_image", workflow: studioWorkflow, params };
      return (await submit(services, request, { submitter: { userId: ownerId, isGuest: false } })).id;
    },
    async until(id, ...statuses) {
      for (;;) {
        const hinted = Promise.withResolvers<void>();
        waiting.set(id, hinted.resolve);
        const row = await read(id);
        if (statuses.includes(row.status)) {
          waiting.delete(id);
          return row;
        }
        const timer = setTimeout(hinted.resolve, hintMissedMs);
        await hinted.promise;
        clearTimeout(timer);
      }
    },
    async close() {
      await worker.term();
      await server.close();
      await stage.close();
    },
  };
}

/** The worker has found out what its server can do. */
async function untilServed(stage: Stage): Promise<void> {
  const isServed = "select 1 as served from node_queues where $1 = any(needs)";
  while ((await stage.query(isServed, [`comfyui/${studioWorkflow}`])).length === 0)
    await new Promise((resolve) => setTimeout(resolve, 100));
}
