import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import sharp from "sharp";
import { schema } from "@atelier/server/db";
import { type InputRole, type JobKind, needOf } from "@atelier/server/engines";
import { ingest } from "@atelier/server/images";
import type { Services } from "@atelier/server/services";
import { createLocalEngine, type Engine } from "@atelier/worker/engines";
import { addJob, type Plan } from "./jobs.ts";

/** Of the pictures that ship with the product. */
export const samplesDir = path.join(import.meta.dirname, "../../public/samples");

/** Pictures that ship with the product, uploaded by one user. Returns their ids by file name. */
export async function uploadSamples(
  services: Services,
  ownerId: string,
): Promise<ReadonlyMap<string, string>> {
  const names = [
    "rocket.jpg",
    "coffee.png",
    "chelsea.png",
    "garment_hoodie.jpg",
    "garment_tee.jpg",
    "garment_long_sleeve.jpg",
    "garment_dress.jpg",
    "astronaut.png",
  ];
  const ids = new Map<string, string>();
  for (const name of names) {
    const bytes = await readFile(path.join(samplesDir, name));
    const { id } = await ingest(services, { ownerId, role: "upload", bytes, name });
    ids.set(name, id);
  }
  await addDuplicate(services, ownerId, ids.get("coffee.png") ?? "");
  return ids;
}

/** A smaller copy of a picture, and what a worker will find of the two. */
async function addDuplicate(services: Services, ownerId: string, imageId: string): Promise<void> {
  const copy = sharp(await readFile(path.join(samplesDir, "coffee.png"))).resize(300);
  const upload = { ownerId, role: "upload", name: "coffee, sent by mail.jpg" } as const;
  const { id } = await ingest(services, { ...upload, bytes: await copy.jpeg({ quality: 70 }).toBuffer() });
  await services.db.insert(schema.duplicatePairs).values({ imageId, twinId: id, ownerId });
}

interface Task {
  readonly kind: JobKind;
  readonly params: Readonly<Record<string, unknown>>;
  /** Files of the samples. */
  readonly files: Partial<Record<InputRole, string>>;
  /** The input that is the result of the task before. */
  readonly onResult?: InputRole;
  /** What it belongs to beside the list of jobs. */
  readonly of?: "lookbook" | "outfit";
}

const lookOf = (garment: string): Task => ({
  kind: "outfit_change",
  params: { category: "top", consent: true },
  files: { person: "astronaut.png", garment },
});

const tasks: readonly Task[] = [
  { kind: "upscale", params: { scale: 2 }, files: { image: "chelsea.png" } },
  {
    kind: "adjust",
    params: { light: 15, contrast: 20, saturation: 10, temperature: 25, sharpness: 30 },
    files: { image: "coffee.png" },
  },
  { kind: "crop", params: { turns: 0, mirror: false, angle: -3.5 }, files: { image: "rocket.jpg" } },
  { kind: "remove_background", params: {}, files: { image: "astronaut.png" } },
  { ...lookOf("garment_hoodie.jpg"), of: "lookbook" },
  { ...lookOf("garment_long_sleeve.jpg"), of: "lookbook" },
  { ...lookOf("garment_tee.jpg"), of: "outfit" },
  {
    ...lookOf("garment_hoodie.jpg"),
    files: { garment: "garment_hoodie.jpg" },
    onResult: "person",
    of: "outfit",
  },
];

async function runTask(engine: Engine, { kind, params, files, onResult }: Task, before: Buffer | undefined) {
  const workDir = await mkdtemp(path.join(os.tmpdir(), "atelier-seed-"));
  const startedMs = performance.now();
  try {
    const inputs = Object.fromEntries(
      Object.entries(files).map(([role, name]) => [role, path.join(samplesDir, name)]),
    );
    if (onResult && before) {
      inputs[onResult] = path.join(workDir, "before.png");
      await writeFile(inputs[onResult], before);
    }
    const need = needOf({ engine: "local", kind, workflow: null });
    const [output] = await engine.run(
      {
        jobId: "seed",
        kind,
        attempt: 1,
        need,
        workflow: null,
        avoid: [],
        submission: null,
        params,
        inputs,
        workDir,
      },
      {
        signal: AbortSignal.timeout(120_000),
        onBegin: () => undefined,
        onProgress: () => undefined,
        onPreview: () => undefined,
        onSubmitting: () => Promise.resolve(),
        takeServer: () => Promise.resolve(null),
      },
    );
    if (!output) throw new Error(`the engine made nothing of ${kind}`);
    return {
      result: await readFile(output.path),
      facts: output.facts ?? {},
      tookMs: performance.now() - startedMs,
    };
  } finally {
    await rm(workDir, { recursive: true, force: true });
  }
}

/** What the engine that ships with the product makes of the samples, here and now. */
export type Made = Task & Awaited<ReturnType<typeof runTask>>;

/** Runs the engine in a child process, so the history is stored meanwhile. */
export async function makeLocally({ log }: Pick<Services, "log">): Promise<Made[]> {
  const engine = createLocalEngine({ log });
  const made: Made[] = [];
  try {
    for (const task of tasks) made.push({ ...task, ...(await runTask(engine, task, made.at(-1)?.result)) });
    return made;
  } finally {
    await engine.close();
  }
}

interface Own extends Pick<Plan, "ownerId" | "nodeId"> {
  /** Ids of the uploads by file. */
  readonly uploads: ReadonlyMap<string, string>;
  readonly made: readonly Made[];
}

/** A stored job with what it was made of. */
export interface LocalJob extends Made {
  readonly jobId: string;
  readonly inputs: Readonly<Record<string, string>>;
}

/** Stores the jobs that these results are of, ended a moment ago; returns them in the same order. */
export async function addLocalJobs(
  services: Services,
  { ownerId, nodeId, uploads, made }: Own,
): Promise<readonly LocalJob[]> {
  const stored: LocalJob[] = [];
  let beforeId: string | null = null;
  for (const one of made) {
    const { kind, params, files, onResult, result, facts, tookMs } = one;
    const inputs: Record<string, string> = Object.fromEntries(
      Object.entries(files).map(([role, name]) => [role, uploads.get(name) ?? ""]),
    );
    if (onResult && beforeId) inputs[onResult] = beforeId;
    const need = needOf({ engine: "local", kind, workflow: null });
    const place = { engine: "local", need, queue: "cpu-light" } as const;
    const runMs = Math.round(tookMs);
    const createdAt = new Date(Date.now() - runMs - 1_000);
    const plan = {
      ownerId,
      nodeId,
      kind,
      params,
      place,
      inputs,
      result,
      facts,
      createdAt,
      runMs,
      waitMs: 400,
    };
    const { id, imageId } = await addJob(services, { ...plan, status: "completed" });
    beforeId = imageId;
    stored.push({ ...one, jobId: id, inputs });
  }
  return stored;
}
