import type { EngineName, Need } from "../../engines.ts";
import type { ErrorCode } from "../../platform/index.ts";

/** A place (queue and need) that was considered for a job, and why it was refused; null: it was chosen. */
export interface WeighedPlace {
  readonly queue: string | null;
  readonly need: Need;
  /** Expected wait in seconds; null when no live node can run the job. */
  readonly waitS: number | null;
  readonly refused:
    | "busier"
    | "slower"
    | "full"
    | "no_server"
    | "never_seen"
    | "less_suited"
    /** An own machine does it, which costs nothing. */
    | "own_first"
    | "dearer"
    /** Only a guess says that the own line is long. */
    | "unmeasured"
    | "cap"
    | "price_unknown"
    | "too_dear"
    | "cooling"
    | "busy"
    | "off"
    | null;
  /** Price of a provider's model in US dollars; null when unknown. */
  readonly priceUsd?: number | null;
}

/** Engine and workflow as requested. A retry uses these, not the values of the chosen place. */
export interface Asked {
  readonly engine: EngineName | null;
  readonly workflow: string | null;
  readonly model?: string | null;
  /** Names of the params in the request; the others are defaults of the chosen place. */
  readonly params: readonly string[];
  /** Params in the request that the first place does not take; another may. */
  readonly unused?: Readonly<Record<string, unknown>>;
}

/** What the person who sent a request agreed to; it binds for the whole life of the job. */
export interface Agreed {
  /** The most that one picture may cost, US dollars; 0: only what is free. */
  readonly maxPriceUsd: number;
  /** The pictures stay on the studio's own machines, as it was shown. */
  readonly ownOnly: boolean;
  /** The model may be one whose price no source states; `maxPriceUsd` is then the person's own maximum. */
  readonly unknownPrice: boolean;
}

/** What decided between the own machines and the providers. */
export type PlacedBecause =
  /** An own machine runs it. */
  | "own"
  /** Its line may be long, but that is only a guess. */
  | "own_unmeasured"
  /** The own machine is away, but not for long yet. */
  | "own_away"
  /** The own line is longer than the studio waits; from past runs, or since the job has waited that long. */
  | "overflow"
  | "waited"
  /** The own machine has been away for longer than that. */
  | "away"
  | "faster"
  /** No own machine can run it. */
  | "no_own"
  /** A provider was wanted, but a cap, the price or the state of the providers does not allow it: an own machine runs it. */
  | "cap"
  | "price_unknown"
  | "too_dear"
  | "cooling"
  | "busy"
  | "off"
  /** The providers refused or failed it. */
  | "refused"
  | "failed";

/** The chosen place of a job, and the places that were considered. */
export interface Placement {
  readonly asked?: Asked;
  readonly chosen: { readonly queue: string; readonly need: Need };
  /** False when no live node can run the job: it waits for one. */
  readonly isLive: boolean;
  /** Missing for jobs of older versions. */
  readonly because?: PlacedBecause;
  readonly weighed: readonly WeighedPlace[];
  /** Set when the place is slower or simpler than requested; the user sees it. */
  readonly downgrade?: { readonly from: Need; readonly queue: string; readonly reason: ErrorCode };
}

/** The estimate of a job before its start. Times in ms. */
export interface Estimate {
  /** Number of jobs before it in the line. */
  readonly position: number;
  /** False while no active node can run it: `waitMs` then has no meaning. */
  readonly isLive: boolean;
  readonly waitMs: readonly [low: number, high: number];
  /** The expected wait by the line of that moment, from which later estimates learn; missing in estimates of older versions. */
  readonly meanMs?: number;
  /** Whether past runs stand behind the wait; missing in estimates of older versions. */
  readonly quality?: "measured" | "assumed";
  readonly runMs: readonly [low: number, high: number];
  /** Number of past runs behind the estimate. */
  readonly runs: number;
}
