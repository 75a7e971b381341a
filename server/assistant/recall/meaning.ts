import { keepNewest, keptBy, orLate } from "../../platform/index.ts";
import type { Services } from "../../services.ts";
import { type VectorModel, vectorModel } from "../models.ts";
import type { Period } from "./rows.ts";
import { meaningLimits, searchMirror } from "./mirror.ts";
import { findDimensions, type Meaning, readVectors, type VectorOwner } from "../../meaning/index.ts";

export type RecallServices = Pick<Services, "db" | "env" | "config" | "log">;

interface MeaningInput {
  readonly userId: string;
  readonly query: string;
  readonly period: Period | null;
  /** The question that it is for. */
  readonly runId: string | null;
  readonly signal: AbortSignal;
}

/** What this process knows of the model. */
interface State {
  /** Questions that were embedded lately, oldest first: the stages of a question ask for the same one. */
  readonly queries: Map<string, readonly number[]>;
  /** After a failure nothing is asked for a while. */
  restUntilMs: number;
  isFailing: boolean;
}

const maxQueries = 200;
const stateOf = keptBy((_db: Services["db"]): State => ({
  queries: new Map(),
  restUntilMs: 0,
  isFailing: false,
}));

/** So long until pgvector is asked instead, where it is there. */
const patienceMs = 150;
const bytesPerMb = 1024 ** 2;

/**
 * How near what a user said is to a query in meaning. Null without a model of embeddings, without vectors of the user, and
 * when the model or the vectors cannot be had now: then words alone decide.
 */
export async function findMeaning(services: RecallServices, input: MeaningInput): Promise<Meaning | null> {
  const model = vectorModel(services);
  if (!model) return null;
  const state = stateOf(services.db);
  if (performance.now() < state.restUntilMs) return null;
  const { userId, period, signal } = input;
  const dimensions = await findDimensions(services, { userId, model: model.key });
  if (dimensions === null) return null;
  const owner: VectorOwner = { userId, model: model.key, dimensions };
  try {
    const embedding = embed(services, model, { ...input, state });
    const found = await search(services, owner, { embedding, period });
    state.isFailing = false;
    return found;
  } catch (error) {
    signal.throwIfAborted();
    if (isOverBudget(error)) return null;
    state.restUntilMs = performance.now() + services.config.assistant.embedding.restS * 1_000;
    if (!state.isFailing) services.log.warn({ err: error }, "memory is searched by words alone");
    state.isFailing = true;
    return null;
  }
}

interface Search {
  readonly embedding: Promise<readonly number[]>;
  readonly period: Period | null;
}

/** In the memory of this process, and where the vectors are not there by now, in the database. */
async function search(
  services: RecallServices,
  owner: VectorOwner,
  { embedding, period }: Search,
): Promise<Meaning | null> {
  const maxBytes = services.config.assistant.embedding.cacheMb * bytesPerMb;
  const reading = readVectors(services, owner, { maxBytes });
  reading.catch(() => undefined);
  const vector = await embedding;
  if (vector.length !== owner.dimensions) return null;
  const table = await orLate(reading, patienceMs, () => null);
  if (table) return table.search(vector, period);
  const found = await searchMirror(services, owner, { vector, within: period });
  // The first search of a user with very many vectors does not wait for all of them; the next ones find them read.
  if (found) return found;
  const late = await orLate(reading, meaningLimits.waitMs - patienceMs, () => null);
  return late?.search(vector, period) ?? null;
}

/** A cap of one user is no reason to ask nothing for others. */
const isOverBudget = (error: unknown) =>
  error instanceof Error && "class" in error && error.class === "over_budget";

async function embed(
  services: RecallServices,
  model: VectorModel,
  { userId, query, runId, signal, state: { queries } }: MeaningInput & { readonly state: State },
): Promise<readonly number[]> {
  const key = JSON.stringify([userId, model.key, query]);
  const known = queries.get(key);
  if (known) return known;
  // Loaded with the first question: the packages of the models take time and memory.
  const { embedQuery } = await import("../stages/embed.ts");
  const vector = await embedQuery(services, { runId, ownerId: userId, model, text: query, signal });
  keepNewest(queries, [key, vector], maxQueries);
  return vector;
}
