import { createRandom } from "./random.ts";

/** What a card does for one job. Times are of the model, not measured: no card was at hand. */
interface Work {
  readonly kind: "text_to_image" | "edit" | "upscale";
  readonly workflow: string;
  /** Part of all requests. */
  readonly share: number;
  /** Usual run on a card that has the model loaded. */
  readonly runS: number;
  /** Until the model is on the card, where another one was. */
  readonly loadS: number;
}

export const works: readonly Work[] = [
  { kind: "text_to_image", workflow: "t2i_z_image_turbo", share: 0.3, runS: 8, loadS: 6 },
  { kind: "text_to_image", workflow: "t2i_sdxl", share: 0.25, runS: 16, loadS: 5 },
  { kind: "text_to_image", workflow: "t2i_flux2_klein_4b", share: 0.15, runS: 12, loadS: 6 },
  { kind: "edit", workflow: "edit_qwen_2511", share: 0.15, runS: 70, loadS: 15 },
  { kind: "text_to_image", workflow: "t2i_qwen_image", share: 0.05, runS: 60, loadS: 15 },
  { kind: "upscale", workflow: "upscale_seedvr2_3b", share: 0.1, runS: 40, loadS: 8 },
];

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

/** When a job began, and whether its card had to load another model first. */
export interface Begun {
  readonly arrival: Arrival;
  readonly atMs: number;
  readonly isSwap: boolean;
}

/** The reference: one line, first come, first served, by the same cards. */
export function runFifo({ arrivals }: Load, cards: number): Begun[] {
  const free = Array.from({ length: cards }, () => ({ atMs: 0, workflow: "" }));
  return arrivals.map((arrival) => {
    const card = free.reduce((first, one) => (one.atMs < first.atMs ? one : first));
    const atMs = Math.max(arrival.atMs, card.atMs);
    const isSwap = card.workflow !== arrival.work.workflow;
    card.atMs = atMs + arrival.runMs + (isSwap ? arrival.work.loadS * 1_000 : 0);
    card.workflow = arrival.work.workflow;
    return { arrival, atMs, isSwap };
  });
}
