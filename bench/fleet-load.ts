import { builtInWorkflows, loadedAfter } from "@atelier/server/workflows";
import { createRandom } from "./random.ts";

/** What a card does for one job. Times are of the model, not measured: no card was at hand. */
interface Work {
  readonly kind: "text_to_image" | "edit" | "upscale";
  readonly workflow: string;
  /** Part of all requests. */
  readonly share: number;
  /** Usual run on a card that has the model loaded. */
  readonly runS: number;
}

/** `edit_flux2_klein_4b` and `t2i_flux2_klein_4b` run with the same files: no load between them. */
export const works: readonly Work[] = [
  { kind: "text_to_image", workflow: "t2i_z_image_turbo", share: 0.25, runS: 8 },
  { kind: "text_to_image", workflow: "t2i_sdxl", share: 0.2, runS: 16 },
  { kind: "text_to_image", workflow: "t2i_flux2_klein_4b", share: 0.1, runS: 12 },
  { kind: "text_to_image", workflow: "t2i_flux1_checkpoint_fp8", share: 0.08, runS: 25 },
  { kind: "text_to_image", workflow: "t2i_sd15", share: 0.05, runS: 6 },
  { kind: "edit", workflow: "edit_qwen_2511", share: 0.12, runS: 70 },
  { kind: "edit", workflow: "edit_flux_kontext_stitched", share: 0.05, runS: 40 },
  { kind: "edit", workflow: "edit_flux2_klein_4b", share: 0.03, runS: 16 },
  { kind: "text_to_image", workflow: "t2i_qwen_image", share: 0.05, runS: 60 },
  { kind: "upscale", workflow: "upscale_seedvr2_3b", share: 0.07, runS: 40 },
];

/**
 * GB a second. A rented card reads its models from a network volume: 1 is the most that a gp3 volume of AWS gives by its
 * documentation (1,000 MiB/s); a local NVMe disk is two to five times as fast. 25 is what PCIe 4.0 x16 carries in use, of 32.
 */
const diskGbS = 1;
const busGbS = 25;

/** Sizes are those of the manifests (`sizeGb`: all files of models that the workflow names). */
const loadMsByWorkflow = new Map(
  builtInWorkflows().map(({ name, sizeGb = 0 }) => [
    name,
    Math.round(1_000 * sizeGb * (1 / diskGbS + 1 / busGbS)),
  ]),
);

/** The workflows that a card runs without a load after it ran this one. */
export const workflowsLoadedBy = (last: string) => loadedAfter(last, builtInWorkflows()) ?? [];

/** Time until the models of a workflow are on a card that ran `last` before: 0 where it has them. */
export function loadMsAfter(last: string | null, { workflow }: Work): number {
  if (last !== null && workflowsLoadedBy(last).includes(workflow)) return 0;
  const loadMs = loadMsByWorkflow.get(workflow);
  if (loadMs === undefined) throw new Error(`no workflow "${workflow}" is built in`);
  return loadMs;
}

export const userKinds = ["light", "regular", "heavy"] as const;
type UserKind = (typeof userKinds)[number];

export interface Arrival {
  readonly atMs: number;
  /** Index of the user. */
  readonly user: number;
  readonly kind: UserKind;
  readonly work: Work;
  readonly runMs: number;
}

export interface Load {
  readonly users: readonly UserKind[];
  readonly arrivals: readonly Arrival[];
}

export const hourMs = 3_600_000;
const userCount = 2_000;
/** Part of the users who sit down in this hour. */
const presentShare = 0.35;
/** Of the hour's sittings: the peak of the morning is twice the average. */
const quarters = [0.15, 0.5, 0.2, 0.15];

/**
 * An hour of 2,000 users, of whom 35 % come. 85 % are light (a sitting of one or two pictures), 13 % regular (three to nine, some
 * seconds between them), 2 % heavy (40 to 80 at once, of one workflow). Half of the sittings begin in the second quarter of the hour. A user
 * mostly stays with a workflow.
 */
export function makeLoad(seed: number): Load {
  const random = createRandom(seed);
  const between = (low: number, high: number) => low + Math.floor(random() * (high - low + 1));
  const users = Array.from({ length: userCount }, (): UserKind => {
    const at = random();
    return at < 0.02 ? "heavy" : at < 0.15 ? "regular" : "light";
  });
  const beginMs = () => {
    let at = random();
    for (const [quarter, part] of quarters.entries()) {
      if (at < part) return ((quarter + at / part) * hourMs) / quarters.length;
      at -= part;
    }
    return hourMs - 1;
  };
  const work = () => {
    let at = random();
    for (const one of works) {
      if (at < one.share) return one;
      at -= one.share;
    }
    throw new Error("the shares make no whole");
  };
  // Log-normal, a third of the usual time as its deviation.
  const runMs = ({ runS }: Work) => {
    const normal = Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random());
    return Math.round(runS * 1_000 * Math.exp(0.32 * normal - 0.05));
  };
  const sizes = { light: [1, 2], regular: [3, 9], heavy: [40, 80] } as const;
  const arrivals = users.flatMap((kind, user) => {
    if (random() >= presentShare) return [];
    const [low, high] = sizes[kind];
    let atMs = beginMs();
    let own = work();
    return Array.from({ length: between(low, high) }, (): Arrival => {
      if (kind !== "heavy" && random() < 0.3) own = work();
      const arrival = { atMs: Math.round(atMs), user, kind, work: own, runMs: runMs(own) };
      atMs += kind === "heavy" ? 200 : 5_000 + 40_000 * random();
      return arrival;
    });
  });
  return { users, arrivals: arrivals.toSorted((a, b) => a.atMs - b.atMs) };
}

/** When a job began, and for how long its card had to load another model first: 0 where it had it. */
export interface Begun {
  readonly arrival: Arrival;
  readonly atMs: number;
  readonly loadMs: number;
}

/** How many workers there are: a fixed number, or as an autoscaler follows `/api/v1/scaling`. */
export type Fleet =
  | { readonly type: "fixed"; readonly cards: number }
  /** As deploy/kubernetes/keda-jobs.yaml: `--once --queue --wait`, a worker ends by itself. */
  | { readonly type: "jobs"; readonly waitMs: number }
  /** As deploy/kubernetes/keda-metrics-api.yaml: replicas, and the autoscaler chooses which one ends. */
  | { readonly type: "replicas" };

export interface Outcome {
  readonly begun: readonly Begun[];
  readonly starts: number;
  readonly stops: number;
  /** Cards paid, from the order of the machine to its end. */
  readonly cardMs: number;
  readonly busyMs: number;
  /** Sentences; none when all invariants held. */
  readonly faults: readonly string[];
}

/** The reference: one line, first come, first served, by the same cards. */
export function runFifo({ arrivals }: Load, cards: number): Begun[] {
  const free = Array.from({ length: cards }, (): { atMs: number; last: string | null } => ({
    atMs: 0,
    last: null,
  }));
  return arrivals.map((arrival) => {
    const card = free.reduce((first, one) => (one.atMs < first.atMs ? one : first));
    const atMs = Math.max(arrival.atMs, card.atMs);
    const loadMs = loadMsAfter(card.last, arrival.work);
    card.atMs = atMs + arrival.runMs + loadMs;
    card.last = arrival.work.workflow;
    return { arrival, atMs, loadMs };
  });
}
