import { keptBy } from "../../platform/index.ts";
import { inTurn, renewTurn, type Turn } from "../../leases/index.ts";
import { type VectorModel, vectorModel } from "../models.ts";
import {
  dropOtherDimensions,
  type Embedded,
  findUnembedded,
  storeVectors,
  type Unembedded,
} from "../recall/vector-log.ts";
import { mirrorVectors } from "../recall/mirror.ts";
import { encodeVector, findDimensions, maxDimensions } from "../../meaning/index.ts";
import { type CallFor, callModel, type CallServices } from "./calls.ts";
import { ModelError } from "./model-errors.ts";
import { openVectorModel } from "./open-model.ts";
import { type PartRound, startRound } from "./part-round.ts";
import { cutToTokens, loadTokenCounter } from "./tokens.ts";

interface EmbedInput extends Pick<CallFor, "ownerId" | "runId" | "causedByKeyId"> {
  readonly model: VectorModel;
  readonly texts: readonly string[];
  readonly signal: AbortSignal;
}

/** Vectors of texts of one user, made in one call that this user pays. Throws `ModelError`. */
async function embedTexts(
  services: CallServices,
  { model, texts, signal, ...payer }: EmbedInput & { readonly tries?: number },
): Promise<number[][]> {
  const { dimensions, maxInputTokens } = services.config.assistant.embedding;
  const count = await loadTokenCounter();
  const values = texts.map((text) => cutToTokens(count, text, maxInputTokens));
  const inputTokens = values.reduce((sum, value) => sum + count(value), 0);
  const call = { stage: "embedding", model, promptVersion: null, inputTokens } as const;
  return callModel(
    services,
    { ...call, ...payer },
    {
      signal,
      make: async ({ abortSignal, maxRetries }) => {
        const { embedMany } = await import("ai");
        const { embeddings, usage } = await embedMany({
          model: await openVectorModel(services, model.id),
          values,
          abortSignal,
          maxRetries,
          ...(dimensions === null ? {} : { dimensions }),
        });
        const tokens = Number.isFinite(usage.tokens) ? usage.tokens : undefined;
        const counted = { inputTokens: tokens, outputTokens: 0 };
        if (!areVectors(embeddings, values.length))
          throw new ModelError("invalid_output", undefined, { usage: counted });
        return { value: embeddings, usage: counted };
      },
    },
  );
}

function areVectors(vectors: readonly (readonly number[])[], count: number): boolean {
  const dimensions = vectors[0]?.length ?? 0;
  return (
    vectors.length === count &&
    dimensions > 0 &&
    dimensions <= maxDimensions &&
    vectors.every((vector) => vector.length === dimensions)
  );
}

/** The vector of a question, which waits for it only shortly. Throws `ModelError`. */
export async function embedQuery(
  services: CallServices,
  { text, ...input }: Omit<EmbedInput, "texts"> & { readonly text: string },
): Promise<readonly number[]> {
  const { queryTimeoutS } = services.config.assistant.embedding;
  const model = { ...input.model, timeoutMs: queryTimeoutS * 1_000, longestMs: queryTimeoutS * 1_000 };
  const [vector = []] = await embedTexts(services, {
    ...input,
    model,
    texts: [`${input.model.queryPrefix}${text}`],
    tries: 1,
  });
  return vector;
}

/** How often all of the log is looked through; between that only what is new. */
const fullMs = 10 * 60_000;
const lastFullOf = keptBy(
  (_db: CallServices["db"]): { last: { readonly model: string; readonly atMs: number } | null } => ({
    last: null,
  }),
);

/**
 * Makes the vectors that are missing, in calls of one user's texts each. Returns how many texts were embedded; null without
 * a model, and when another process does it. Looks through all of the log when `isForced`, else only now and then. What
 * cannot be done now is done the next time.
 */
export async function embedMissing(
  services: CallServices,
  { signal, isForced }: { readonly signal: AbortSignal; readonly isForced: boolean },
): Promise<number | null> {
  const model = vectorModel(services);
  if (!model) return null;
  const isRecent = !isForced && wasFull(services, model);
  const counts = { embedded: 0 };
  try {
    return await inTurn(services, { name: "vectors", everyMs: 0, signal }, async (turn) => {
      const parts = startRound(services, "vectors", { isForced });
      const round: Round = {
        model,
        turn,
        signal,
        isRecent,
        parts,
        skipped: new Set(),
        after: firstId,
        counts,
      };
      while (!signal.aborted && (await embedNext(services, round)));
      await mirrorVectors(services, { model: model.key, signal, mayCreate: !isRecent });
      return counts.embedded;
    });
  } catch (error) {
    if (signal.aborted || !(error instanceof ModelError)) throw error;
    services.log.warn({ err: error }, "no vectors can be made now");
    return counts.embedded;
  }
}

function wasFull({ db }: CallServices, { key }: VectorModel): boolean {
  const { last } = lastFullOf(db);
  return last?.model === key && performance.now() - last.atMs < fullMs;
}

const firstId = "00000000-0000-0000-0000-000000000000";

interface Round {
  readonly model: VectorModel;
  readonly turn: Turn;
  readonly signal: AbortSignal;
  /** Users whose limit of spending is reached. */
  readonly skipped: Set<string>;
  readonly parts: PartRound;
  readonly isRecent: boolean;
  /** The last text that was read. */
  after: string;
  readonly counts: { embedded: number };
}

/** Embeds the next texts; false when there are none. */
async function embedNext(services: CallServices, round: Round): Promise<boolean> {
  const { model, parts, skipped, isRecent, after } = round;
  const leftOut = { textIds: parts.leftOut(), ownerIds: [...skipped] };
  const found = await findUnembedded(services, { model, after, leftOut, isRecent });
  const inOrder = found.toSorted((a, b) => parts.failuresOf(a.id) - parts.failuresOf(b.id));
  for (const [ownerId, own] of Map.groupBy(inOrder, (text) => text.ownerId))
    for (const [apiKeyId, texts] of Map.groupBy(own, (text) => text.apiKeyId))
      if (!(await embedOwner(services, round, { ownerId, apiKeyId, texts }))) return false;
  round.after = found.at(-1)?.id ?? after;
  if (found.length > 0) return true;
  if (parts.takeFailed()) {
    round.after = firstId;
    return true;
  }
  if (!isRecent && skipped.size === 0)
    lastFullOf(services.db).last = { model: model.key, atMs: performance.now() };
  return false;
}

/**
 * The texts of one user, in calls of `batchSize`, and of fewer where some failed before, so that the one at fault is found; a
 * user at a cap of spending waits. False when the work is lost.
 */
async function embedOwner(services: CallServices, round: Round, part: Part): Promise<boolean> {
  const { ownerId, texts } = part;
  const { batchSize } = services.config.assistant.embedding;
  const failures = Math.max(0, ...texts.map(({ id }) => round.parts.failuresOf(id)));
  const size = Math.max(1, Math.floor(batchSize / 2 ** failures));
  try {
    for (let at = 0; at < texts.length; at += size) {
      if (round.signal.aborted || !(await renewTurn(services, round.turn))) return false;
      await embedPart(services, round, { ...part, texts: texts.slice(at, at + size) });
    }
  } catch (error) {
    if (!(error instanceof ModelError) || error.reach !== "owner") throw error;
    round.skipped.add(ownerId);
  }
  return true;
}

interface Part extends Pick<Unembedded, "ownerId" | "apiKeyId"> {
  readonly texts: readonly Unembedded[];
}

/** One call, stored. A text that fails is found by halving: one that is too long for the model is left out for good. */
async function embedPart(services: CallServices, round: Round, part: Part): Promise<void> {
  const { ownerId, apiKeyId, texts } = part;
  const { model, parts, signal } = round;
  const values = texts.map(({ text }) => `${model.documentPrefix}${text}`);
  const ids = texts.map(({ id }) => id);
  try {
    const vectors = await embedTexts(services, {
      runId: null,
      causedByKeyId: apiKeyId,
      ownerId,
      model,
      texts: values,
      signal,
    });
    parts.noteAnswer();
    await store(services, round, { ownerId, texts, vectors });
    parts.noteDone(ids);
  } catch (error) {
    if (signal.aborted || !(error instanceof ModelError)) throw error;
    const { reach } = error;
    if (reach === "owner") throw error;
    if (reach === "all" || (texts.length === 1 && error.class !== "over_limit")) {
      parts.noteFailed(ids, error);
      services.log.warn({ err: error }, "a text got no vector, it is tried again later");
      return;
    }
    if (texts.length === 1) return store(services, round, { ownerId, texts, vectors: [[]] });
    const half = Math.ceil(texts.length / 2);
    await embedPart(services, round, { ...part, texts: texts.slice(0, half) });
    await embedPart(services, round, { ...part, texts: texts.slice(half) });
  }
}

async function store(
  services: CallServices,
  round: Round,
  { ownerId, texts, vectors }: Omit<Part, "apiKeyId"> & { readonly vectors: readonly (readonly number[])[] },
): Promise<void> {
  const { model } = round;
  const dimensions = vectors[0]?.length ?? 0;
  const known = dimensions > 0 ? await findDimensions(services, { userId: ownerId, model: model.key }) : null;
  if (known !== null && known !== dimensions) {
    await dropOtherDimensions(services, { model, dimensions });
    lastFullOf(services.db).last = null;
  }
  const embedded = texts.map((text, at): Embedded => ({ text, codes: encodeVector(vectors[at] ?? []) }));
  await storeVectors(services, { ownerId, model, dimensions, embedded });
  round.counts.embedded += texts.length;
}
