import {
  cloudEngine,
  enginesFor,
  jobKinds,
  localEngine,
  maxOutputPixels,
  requiredInputs,
  selectionMeans,
  type EngineName,
  type JobKind,
  type SelectionMeans,
} from "../engines.ts";
import { pictureLimits } from "../platform/index.ts";
import { modelsOf } from "../providers/index.ts";
import {
  missingEngineReason,
  knownWorkflows,
  livePlaces,
  seenNeeds,
  startableNeeds,
} from "../scheduling/index.ts";
import { hasTextModel } from "../meaning/index.ts";
import type { Services } from "../services.ts";
import type { Workflow } from "../workflows/index.ts";
import { currentWords } from "../words.ts";

interface Capability {
  readonly kind: JobKind;
  readonly available: boolean;
  /** The engine of a request that names none. */
  readonly engine: EngineName | null;
  /** Live engines for the kind, best first. */
  readonly engines: readonly EngineName[];
  /** Why it cannot run now; null when it can. */
  readonly reason: string | null;
  /** Of `segment`: what a selection can be asked by now. Of other kinds nothing. */
  readonly means: readonly SelectionMeans[];
}

export interface Capabilities {
  readonly items: readonly Capability[];
  /** Whether pictures are found by meaning: an operator added the text model. */
  readonly hasMeaning: boolean;
  readonly limits: {
    readonly maxOutputPixels: number;
    readonly maxBatchJobs: number;
    /** On one side. */
    readonly maxExpandPx: number;
  };
}

/** Kinds that a user waits for while working on a picture: without a live server they are not offered. */
const immediateKinds: ReadonlySet<JobKind> = new Set(["segment"]);

/** Params of a kind, one for each way of asking that has engines of its own. */
const wishesOf = (kind: JobKind): readonly Readonly<Record<string, unknown>>[] =>
  kind === "segment" ? selectionMeans.map((means) => ({ [means]: true })) : [{ scale: 2 }];

/** What a place can select by; nothing for other kinds. */
function meansOf(need: string, workflows: readonly Workflow[]): SelectionMeans[] {
  const [engine, name] = need.split("/");
  if (engine === "comfyui") {
    const workflow = workflows.find((known) => known.kind === "segment" && known.name === name);
    return selectionMeans.filter((means) => workflow && Object.hasOwn(workflow.params, means));
  }
  if (name !== "segment") return [];
  const roles = new Set(requiredInputs("segment"));
  return selectionMeans.filter((means) =>
    enginesFor({ kind: "segment", params: { [means]: true }, roles }).some((able) => able === engine),
  );
}

/**
 * Which kinds can be requested now, with providers or without. Most known kinds without a live worker are available, with the
 * reason why jobs wait.
 */
export async function readCapabilities(
  { db, config, env }: Pick<Services, "config" | "db" | "env">,
  { mayUseCloud }: { readonly mayUseCloud: boolean },
): Promise<Capabilities> {
  const [live, seen, startable, workflows] = await Promise.all([
    livePlaces(db),
    seenNeeds(db, config),
    startableNeeds(db, config),
    knownWorkflows(db),
  ]);
  const models = mayUseCloud ? modelsOf(config) : [];
  const kindOf = new Map<string, JobKind>([
    ...workflows.map((workflow) => [`comfyui/${workflow.name}`, workflow.kind] as const),
    ...models.map((model) => [`cloud/${model.id}`, model.kind] as const),
  ]);
  const enginesAmong = (needs: readonly string[], kind: JobKind) => {
    const found = new Set(
      needs
        .filter((need) => (kindOf.get(need) ?? need.split("/")[1]) === kind)
        .map((need) => need.split("/")[0]),
    );
    const own = wishesOf(kind).flatMap((params) =>
      enginesFor({ kind, params, roles: new Set(requiredInputs(kind)) }),
    );
    return [...new Set<EngineName>([...own, cloudEngine.name])].filter((engine) => found.has(engine));
  };
  const items = jobKinds.map((kind): Capability => {
    const engines = enginesAmong(
      live.map(({ need }) => need),
      kind,
    );
    const [best] = engines;
    const able = new Set(kind === "segment" ? live.flatMap(({ need }) => meansOf(need, workflows)) : []);
    const means = selectionMeans.filter((one) => able.has(one));
    if (best) return { kind, available: true, engine: best, engines, reason: null, means };
    const known = immediateKinds.has(kind) ? [] : enginesAmong(seen, kind);
    const isEverLocal = localEngine.kinds.includes(kind) && !immediateKinds.has(kind);
    const engine = isEverLocal ? localEngine.name : (known[0] ?? null);
    const isStarted = enginesAmong(startable, kind).length > 0;
    const { t } = currentWords();
    const whyNot = () => t(isStarted ? "reasons.awaits.start" : "reasons.noWorkerNow");
    const reason = engine === null ? missingEngineReason(kind, []) : whyNot();
    return { kind, available: engine !== null, engine, engines, reason, means };
  });
  const { batchPictures: maxBatchJobs, expandSidePx: maxExpandPx } = pictureLimits;
  return { items, hasMeaning: hasTextModel(env), limits: { maxOutputPixels, maxBatchJobs, maxExpandPx } };
}
