import { jobStatuses, type JobStatus, schema } from "@atelier/server/db";
import type { ErrorCode } from "@atelier/server/platform";
import type { Services } from "@atelier/server/services";
import { addAttempts } from "./cloud.ts";
import { addJob, idAt, type Place, type Plan } from "./jobs.ts";
import { type Nodes, serverUrls } from "./nodes.ts";
import type { People } from "./people.ts";
import { sceneOf } from "./scenes.ts";

const days = 14;
const count = 56;
const dayMs = 86_400_000;
/** Of the last ended job. */
const youngestMs = 180_000;

const sdxl: Place = {
  engine: "comfyui",
  workflow: "t2i_sdxl",
  need: "comfyui/t2i_sdxl",
  queue: "gpu-high",
  server: serverUrls[0],
};
const turbo: Place = {
  ...sdxl,
  workflow: "t2i_z_image_turbo",
  need: "comfyui/t2i_z_image_turbo",
  server: serverUrls[1],
};
const cloud: Place = { engine: "cloud", model: "nano-banana", need: "cloud/nano-banana", queue: "cloud" };

const places = [sdxl, sdxl, turbo, cloud, sdxl, turbo] as const;

const failures: readonly ErrorCode[] = [
  "gpu_out_of_memory",
  "engine_failed",
  "server_lost",
  "engine_timeout",
];

/** Of twelve jobs one failed and one was cancelled; those of a provider all succeeded. */
function endOf(number: number, place: Place): Pick<Plan, "status" | "error"> {
  if (place === cloud) return { status: "completed" };
  if (number % 12 === 4)
    return {
      status: "failed",
      error: failures[Math.floor(number / 12) % failures.length] ?? "engine_failed",
    };
  return { status: number % 12 === 10 ? "cancelled" : "completed" };
}

interface Studio {
  readonly people: People;
  readonly nodes: Nodes;
}

/** Text to image as it was asked for, with the picture when it completed. */
async function planOf(
  number: number,
  { ownerId, nodeId, createdAt, place }: Pick<Plan, "ownerId" | "nodeId" | "createdAt" | "place">,
  { status, error }: Pick<Plan, "status" | "error">,
): Promise<Plan> {
  const { prompt, widthPx, heightPx, draw } = sceneOf(number);
  const params = {
    prompt,
    width: widthPx,
    height: heightPx,
    seed: 1_000 + number,
    steps: place === turbo ? 8 : 25,
  };
  const waitMs = 1_000 + ((number * 7) % 13) * 900;
  const runMs = (place === turbo ? 3_000 : 9_000) + ((number * 11) % 17) * 600;
  return {
    ownerId,
    nodeId,
    kind: "text_to_image",
    status,
    place,
    params,
    createdAt,
    waitMs,
    runMs,
    ...(error ? { error } : {}),
    ...(status === "completed" ? { result: await draw(), facts: { timeMs: runMs } } : {}),
  };
}

/** Two weeks of ended jobs of everybody. Returns the ids of the admin's pictures, newest last, and of their jobs. */
export async function addHistory(
  services: Services,
  { people, nodes }: Studio,
): Promise<{ readonly jobId: string; readonly imageId: string }[]> {
  const own: { jobId: string; imageId: string }[] = [];
  for (let number = 0; number < count; number += 1) {
    const place = places[number % places.length] ?? sdxl;
    // Every second job is the admin's, so that one gallery is full.
    const ownerId =
      people.ownerIds[number % 2 === 0 ? 0 : (number >> 1) % people.ownerIds.length] ?? people.adminId;
    // Most of them lately, so that the pages of a day are full as well as those of two weeks.
    const ageMs = youngestMs + days * dayMs * ((count - 1 - number) / count) ** 3;
    const createdAt = new Date(Date.now() - ageMs);
    const plan = await planOf(
      number,
      { ownerId, nodeId: nodes.graphicsId, createdAt, place },
      endOf(number, place),
    );
    const { id, imageId } = await addJob(services, plan);
    if (place === cloud) await addAttempts(services, { jobId: id, plan, number });
    if (imageId && ownerId === people.adminId) own.push({ jobId: id, imageId });
  }
  return own;
}

/** No server has it, so its window has one place: of two jobs one is queued and the other stays in the line. */
const flux: Place = { ...sdxl, workflow: "t2i_flux2_dev", need: "comfyui/t2i_flux2_dev" };

const placeOfOpen: Partial<Record<JobStatus, Place>> = {
  pending: flux,
  queued: flux,
  waiting_for_engine: turbo,
};

/**
 * One job of the admin in every status, begun a moment ago. The open ones wait for, or are held by, a worker that this
 * command plays.
 */
export async function addEveryStatus(
  services: Services,
  { people, nodes }: Studio,
): Promise<Map<JobStatus, string>> {
  const ids = new Map<JobStatus, string>();
  for (const [at, status] of jobStatuses.entries()) {
    const createdAt = new Date(Date.now() - (jobStatuses.length - at) * 15_000);
    const place = placeOfOpen[status] ?? sdxl;
    const error = status === "failed" ? ({ error: "gpu_out_of_memory" } as const) : {};
    const plan = await planOf(
      200 + at,
      { ownerId: people.adminId, nodeId: nodes.graphicsId, createdAt, place },
      { status, ...error },
    );
    ids.set(status, (await addJob(services, { ...plan, waitMs: 1_000, runMs: 8_000 })).id);
  }
  return ids;
}

const axesOfBatch = [
  { param: "guidance", values: [3, 5, 7] },
  { param: "seed", values: [1, 2, 3, 4] },
];

/** A grid of the admin's: most places have their picture, one failed, and the last one was cancelled. */
export async function addBatch(services: Services, { people, nodes }: Studio): Promise<string> {
  const [rows, columns] = axesOfBatch.map(({ values }) => values);
  const places = (rows ?? []).flatMap((guidance) => (columns ?? []).map((seed) => ({ guidance, seed })));
  const startMs = Date.now() - 2 * 3_600_000;
  const batchId = idAt(new Date(startMs));
  const ids: string[] = [];
  for (const [at, { guidance, seed }] of places.entries()) {
    const createdAt = new Date(startMs + at);
    const end: Pick<Plan, "status" | "error"> =
      at === 6
        ? { status: "failed", error: "gpu_out_of_memory" }
        : { status: at === places.length - 1 ? "cancelled" : "completed" };
    const base = { ownerId: people.adminId, nodeId: nodes.graphicsId, createdAt, place: turbo };
    const plan = await planOf(300 + guidance, base, end);
    ids.push((await addJob(services, { ...plan, params: { ...plan.params, guidance, seed } })).id);
  }
  await services.db.insert(schema.batches).values({
    id: batchId,
    ownerId: people.adminId,
    title: "Guidance and seed",
    axes: axesOfBatch,
    size: ids.length,
    maxPriceUsd: 0,
    createdAt: new Date(startMs),
    endedAt: new Date(startMs + 240_000),
  });
  await services.db
    .insert(schema.batchJobs)
    .values(ids.map((jobId, position) => ({ batchId, position, jobId })));
  return batchId;
}
