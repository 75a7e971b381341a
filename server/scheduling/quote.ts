import { type Agreed, type Db, tiers } from "../db/index.ts";
import type { InputRole } from "../engines.ts";
import { AppError, type Config } from "../platform/index.ts";
import { modelsOf } from "../providers/index.ts";
import { type Candidate, findCandidates, type Known, type PlaceRequest } from "./candidates.ts";
import { place, type Placed } from "./place.ts";
import { readCloudPolicy } from "./policy.ts";
import type { Share } from "./snapshot.ts";
import { knownWorkflows } from "./workflows.ts";

/** What a quote depends on of a request; a request of a submit fits as it is. */
interface QuoteRequest extends Omit<PlaceRequest, "roles"> {
  /** Pictures by role; only which roles are given matters. */
  readonly inputs: Readonly<Partial<Record<string, unknown>>>;
  readonly tier: keyof typeof tiers;
  /** No provider may run it. */
  readonly ownOnly: boolean;
  /** What the person agreed to. */
  readonly agreed?: Agreed | undefined;
}

/** The account whose line, settings and caps count. */
interface Asker {
  readonly userId: string;
  readonly isGuest: boolean;
  /** The API key that asks, whose cap counts, too. */
  readonly keyId?: string | undefined;
}

/** Where a request would go now, when it would start there, and why there. */
export interface Quote {
  readonly placed: Placed;
  readonly share: Share;
}

export interface QuoteInput {
  readonly request: QuoteRequest;
  readonly asker: Asker;
  /** How old the places and the wait may be. */
  readonly maxAgeMs: number;
  /** Of a run of the candidate. */
  readonly sizeClassOf: (candidate: Candidate) => number;
  /** The job came longer ago than jobs wait in the own line (`overflowAfterS`); false by default. */
  readonly hasWaited?: boolean | undefined;
  /** Of a stored job; by default that of the request. */
  readonly tier?: number;
}

interface Reading {
  readonly db: Db;
  readonly config: Config;
}

/**
 * Reads only, so it runs before a submit's transaction. Throws `no_engine`, `workflow_unknown`, `workflow_params`,
 * `model_unknown`, `forbidden` (a provider was asked for by a guest, or against a setting) and `budget_exceeded`.
 */
export async function readQuote(
  { db, config }: Reading,
  { request, asker, maxAgeMs, sizeClassOf, hasWaited = false, tier }: QuoteInput,
): Promise<Quote> {
  const { userId: ownerId, isGuest } = asker;
  const { kind } = request;
  const mayLeave = !isGuest && !request.ownOnly;
  const isOfProvider = request.model !== undefined || request.engine === "cloud";
  if (isOfProvider && !mayLeave) {
    const why = isGuest
      ? "Guests cannot use cloud models: they cost money. Create an account."
      : "The request says that only the studio's own machines may run it.";
    throw new AppError("forbidden", why);
  }
  const models = mayLeave ? modelsOf(config) : [];
  const candidates = candidatesOf(request, { workflows: await knownWorkflows(db, request.workflow), models });
  let known: ReturnType<typeof readCloudPolicy> | undefined;
  const policy = () => (known ??= readCloudPolicy(db, config, { userId: ownerId, kind }));
  if (isOfProvider && (await policy()) === "own_only")
    throw new AppError("forbidden", "The settings keep these pictures on the studio's own machines.");
  const share = { ownerId, tier: tier ?? tiers[request.tier] };
  const placed = await place(db, config, {
    kind,
    candidates,
    share,
    maxAgeMs,
    policy,
    agreed: request.agreed ?? null,
    apiKeyId: asker.keyId,
    sizeClassOf,
    hasWaited,
  });
  return { placed, share };
}

/** The models of providers that can do a request, in the order of the list. */
export function cloudCandidates(models: Known["models"], request: QuoteRequest): Candidate[] {
  return candidatesOf({ ...request, engine: "cloud" }, { workflows: [], models });
}

/**
 * All candidates (engine and workflow or model) for a request. Throws `workflow_unknown`, `workflow_params` or
 * `model_unknown` when a named one does not fit.
 */
function candidatesOf(request: QuoteRequest, known: Known): Candidate[] {
  const { kind, params, engine, workflow, model, inputs } = request;
  // Safe: the schema of a request allows only roles as keys.
  const given = Object.entries(inputs).filter(([, id]) => id !== undefined) as [InputRole, unknown][];
  const roles = new Set(given.map(([role]) => role));
  return findCandidates(known, { kind, params, roles, engine, workflow, model });
}
