import type { CloudPolicy } from "@atelier/server/db";

/**
 * The money table: who runs a job, what that costs and what the user is told, for every policy, own line, cap and state
 * of the provider. `server/jobs/money.test.ts` proves each cell, and that docs/providers.md has the same table.
 */

/** The own machines when the request comes. The limit of the line (`overflowAfterS`) is 60 s. */
export const lines = {
  idle: "own machine idle",
  short: "own line of 40 s, from past runs",
  long: "own line of 200 s, from past runs",
  unknown: "own line of unknown length (no past runs)",
  lowTier: "200 s of other users' low-tier jobs",
  otherNeed: "200 s of jobs that the own machine cannot run",
  restarting: "own machine away for a moment",
  dead: "own machine away for over 60 s",
  none: "no own machine can do it",
} as const;
export type Line = keyof typeof lines;

export const policies = ["own_first", "fastest", "cheapest", "own_only"] as const satisfies CloudPolicy[];

type Wish =
  /** Runs on an own machine and costs nothing. */
  | "home"
  /** Waits for the own machine and costs nothing. */
  | "waits"
  /** A provider is wanted: `bought` says what comes of it. */
  | "buy"
  | "refused";

/** Without a cap, a price or a provider in the way. A past run takes 2 s here and 20 s at the provider. */
export const wishes: Readonly<Record<Line, Readonly<Record<CloudPolicy, Wish>>>> = {
  idle: { own_first: "home", fastest: "home", cheapest: "home", own_only: "home" },
  short: { own_first: "home", fastest: "buy", cheapest: "home", own_only: "home" },
  long: { own_first: "buy", fastest: "buy", cheapest: "home", own_only: "home" },
  unknown: { own_first: "home", fastest: "home", cheapest: "home", own_only: "home" },
  lowTier: { own_first: "home", fastest: "home", cheapest: "home", own_only: "home" },
  otherNeed: { own_first: "home", fastest: "home", cheapest: "home", own_only: "home" },
  restarting: { own_first: "waits", fastest: "buy", cheapest: "waits", own_only: "waits" },
  dead: { own_first: "buy", fastest: "buy", cheapest: "buy", own_only: "waits" },
  none: { own_first: "buy", fastest: "buy", cheapest: "buy", own_only: "refused" },
};

export const caps = ["free", "user", "studio"] as const;
export type Cap = (typeof caps)[number];

export const states = {
  up: "up",
  cooling: "cools down after failures",
  busy: "has as many runs as it takes",
  unpriced: "price unknown",
} as const;
export type State = keyof typeof states;

interface Outcome {
  readonly runs: "home" | "provider" | "nobody";
  /** US dollars; null: unknown, and nothing is bought without the user's own maximum. */
  readonly priceUsd: number | null;
  /** What the user is told of it. */
  readonly told: RegExp | null;
}

export const priceUsd = 0.067;

const atHome = (told: RegExp): Outcome => ({ runs: "home", priceUsd: 0, told });
const unpriced = /is not known.*own machines/;
const cooling = /left alone for a while.*own machines/;
const busy = /as many runs as it takes.*own machines/;
const capped = { user: /^Your daily limit.*own machines/, studio: /^The studio's daily limit.*own machines/ };

/** A provider is wanted and own machines could run it, too: nothing that is in the way refuses the job. */
export const bought: Readonly<Record<State, Readonly<Record<Cap, Outcome>>>> = {
  up: {
    free: { runs: "provider", priceUsd, told: /a provider (makes it|is done sooner)/ },
    user: atHome(capped.user),
    studio: atHome(capped.studio),
  },
  cooling: { free: atHome(cooling), user: atHome(capped.user), studio: atHome(capped.studio) },
  busy: { free: atHome(busy), user: atHome(capped.user), studio: atHome(capped.studio) },
  unpriced: { free: atHome(unpriced), user: atHome(unpriced), studio: atHome(unpriced) },
};

const refused = { user: /^Your daily limit/, studio: /^The studio's daily limit/ };
const nobody = (told: RegExp): Outcome => ({ runs: "nobody", priceUsd: 0, told });
const atProvider: Outcome = { runs: "provider", priceUsd, told: null };
const ownPrice: Outcome = { runs: "provider", priceUsd: null, told: null };

/** A provider is wanted and nothing own could ever run it. */
export const boughtAlone: Readonly<Record<State, Readonly<Record<Cap, Outcome>>>> = {
  up: { free: atProvider, user: nobody(refused.user), studio: nobody(refused.studio) },
  cooling: { free: atProvider, user: nobody(refused.user), studio: nobody(refused.studio) },
  busy: { free: atProvider, user: nobody(refused.user), studio: nobody(refused.studio) },
  unpriced: { free: ownPrice, user: ownPrice, studio: ownPrice },
};

/** What a cell of the table comes to. */
export function outcomeOf(
  line: Line,
  policy: CloudPolicy,
  { cap, state }: { cap: Cap; state: State },
): Outcome {
  const wish = wishes[line][policy];
  if (wish === "refused") return nobody(/needs a ComfyUI server/);
  const isGuess = line === "unknown" && (policy === "own_first" || policy === "fastest");
  if (wish !== "buy") return { runs: "home", priceUsd: 0, told: isGuess ? /nothing is bought/ : null };
  return (line === "none" ? boughtAlone : bought)[state][cap];
}
