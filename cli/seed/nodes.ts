import { setTimeout as sleep } from "node:timers/promises";
import { inArray, like, sql } from "drizzle-orm";
import { schema } from "@atelier/server/db";
import type { Need } from "@atelier/server/engines";
import { ownIdentity, register } from "@atelier/server/nodes";
import type { Services } from "@atelier/server/services";

const { nodes, engineServers } = schema;

/** Begins the name of every worker of `seed`. */
const prefix = "seed-";

const gib = 1024 ** 3;
/** What needs a server anyway: jobs that this computer can do itself must not wait for a worker that does nothing. */
const graphicsNeeds: readonly Need[] = ["comfyui/t2i_sdxl", "comfyui/t2i_z_image_turbo"];

/** Servers that no process ever calls: only rows of them exist. */
export const serverUrls = ["http://gpu-1.seed.example:8188", "http://gpu-2.seed.example:8188"] as const;

/** The workers that the command plays. */
export interface Nodes {
  /** With ComfyUI servers; holds the jobs that run. */
  readonly graphicsId: string;
  /** With nothing but the engine that ships with the product. */
  readonly plainId: string;
}

/** Registers two workers, one with two servers, and a third that has ended. No process is behind them, but this one. */
export async function addNodes(services: Services): Promise<Nodes> {
  const add = (name: string, queue: string, needs: readonly Need[]) =>
    register(services, {
      name: `${prefix}${name}`,
      identity: { ...ownIdentity(), hostname: `${name}.seed.example` },
      capability: {
        cores: 16,
        memoryBytes: 64 * gib,
        gpus: [],
        kinds: ["text_to_image"],
        engines: ["comfyui", "local"],
      },
      queues: [{ queue, slots: 2, needs: [...needs] }],
    });
  const graphics = await add("graphics", "gpu-high", graphicsNeeds);
  const plain = await add("plain", "cpu-light", []);
  const old = await add("old", "cpu-light", []);
  const { db } = services;
  await db
    .update(nodes)
    .set({ processed: 812, failed: 9 })
    .where(inArray(nodes.id, [graphics.id, plain.id]));
  await db
    .update(nodes)
    .set({ state: "gone", processed: 3_204, endedAt: sql`now() - interval '2 hours'` })
    .where(inArray(nodes.id, [old.id]));
  for (const [at, url] of serverUrls.entries())
    await db.insert(engineServers).values({
      nodeId: graphics.id,
      url,
      engine: "comfyui",
      label: url.replace("http://", ""),
      state: at === 0 ? "healthy" : "down",
      lastError: at === 0 ? null : "connect ECONNREFUSED",
      device: "cuda",
      deviceName: "NVIDIA GeForce RTX 4090",
      vramTotalBytes: 24 * gib,
      vramFreeBytes: 15 * gib,
      version: "0.3.76",
      needs: [...graphicsNeeds],
      missing: { t2i_flux2_dev: ["flux2_dev_fp8mixed.safetensors"] },
      models: ["sd_xl_base_1.0.safetensors"],
      sources: ["static"],
      probedAt: new Date(),
    });
  return { graphicsId: graphics.id, plainId: plain.id };
}

const beatMs = 1_000;

/** Beats for the workers of `addNodes` as real ones do, until the signal; so their jobs stay as they are. */
export async function playNodes(
  { db }: Services,
  { graphicsId, plainId }: Nodes,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    await db
      .update(nodes)
      .set({ counter: sql`${nodes.counter} + 1`, seenAt: sql`now()` })
      .where(inArray(nodes.id, [graphicsId, plainId]));
    await sleep(beatMs, undefined, { signal }).catch(() => undefined);
  }
}

export async function removeNodes({ db }: Pick<Services, "db">): Promise<void> {
  await db.delete(nodes).where(like(nodes.name, `${prefix}%`));
}
