import { mkdtemp, readFile, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import type { InputRole, JobKind } from "@atelier/server/engines";
import { needOf } from "@atelier/server/engines";
import { ingest } from "@atelier/server/images";
import { addItem } from "@atelier/server/wardrobe";
import type { Services } from "@atelier/server/services";
import { createLocalEngine, type Engine } from "@atelier/worker/engines";
import { addJob, type Plan } from "./jobs.ts";

const samplesDir = path.join(import.meta.dirname, "../../public/samples");

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
    "astronaut.png",
  ];
  const ids = new Map<string, string>();
  for (const name of names) {
    const bytes = await readFile(path.join(samplesDir, name));
    const { id } = await ingest(services, { ownerId, role: "upload", bytes, name });
    ids.set(name, id);
  }
  return ids;
}

const kept = [
  { file: "garment_hoodie.jpg", what: "garment", category: "top", name: "Hoodie", tags: ["warm"] },
  { file: "garment_tee.jpg", what: "garment", category: "top", name: "Tee", tags: ["summer"] },
  { file: "astronaut.png", what: "person", category: null, name: "", tags: [] },
] as const;

/** Garments and a person in the wardrobe of one user. */
export async function fillWardrobe(
  services: Services,
  ownerId: string,
  uploads: ReadonlyMap<string, string>,
): Promise<void> {
  for (const { file, tags, ...facts } of kept) {
    const imageId = uploads.get(file) ?? "";
    await addItem(services, { ...facts, tags: [...tags], imageId, ownerId, cutOutJobId: null });
  }
}

interface Task {
  readonly kind: JobKind;
  readonly params: Readonly<Record<string, unknown>>;
  /** Files of the samples. */
  readonly files: Partial<Record<InputRole, string>>;
}

const tasks: readonly Task[] = [
  { kind: "upscale", params: { scale: 2 }, files: { image: "chelsea.png" } },
  {
    kind: "adjust",
    params: { light: 15, contrast: 20, saturation: 10, temperature: 25, sharpness: 30 },
    files: { image: "coffee.png" },
  },
  { kind: "crop", params: { turns: 0, mirror: false, angle: -3.5 }, files: { image: "rocket.jpg" } },
  { kind: "remove_background", params: {}, files: { image: "astronaut.png" } },
  {
    kind: "outfit_change",
    params: { category: "auto", consent: true },
    files: { person: "astronaut.png", garment: "garment_hoodie.jpg" },
  },
];

async function runTask(engine: Engine, { kind, params, files }: Task) {
  const workDir = await mkdtemp(path.join(os.tmpdir(), "atelier-seed-"));
  const startedMs = performance.now();
  try {
    const inputs = Object.fromEntries(
      Object.entries(files).map(([role, name]) => [role, path.join(samplesDir, name)]),
    );
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
    for (const task of tasks) made.push({ ...task, ...(await runTask(engine, task)) });
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

/** The jobs that these results are of, ended a moment ago. */
export async function addLocalJobs(
  services: Services,
  { ownerId, nodeId, uploads, made }: Own,
): Promise<void> {
  for (const { kind, params, files, result, facts, tookMs } of made) {
    const inputs = Object.fromEntries(
      Object.entries(files).map(([role, name]) => [role, uploads.get(name) ?? ""]),
    );
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
    await addJob(services, { ...plan, status: "completed" });
  }
}
