import type { Meaning } from "../../meaning/index.ts";
import { fitOfDate, type NamedDate, type Order } from "./query.ts";

/** A stem of the query with what it weighs for this user. */
export interface QueryTerm {
  readonly weight: number;
  /** Messages and memories of the user that have it. */
  readonly documents: number;
}

/** A message or a memory as the score needs it. */
export interface Candidate {
  readonly kind: "memory" | "message";
  readonly id: string;
  readonly conversationId: string | null;
  readonly from: Date;
  readonly to: Date;
  /** Bit n is set when it has term n of the query. */
  readonly mask: number;
  /** Number of its stems. */
  readonly length: number;
  readonly isQuestion: boolean;
  readonly isBySpeaker: boolean;
  /** Messages before and after it in its conversation, nearest first: "" where none is known, nothing where none were read. */
  readonly before: readonly string[];
  readonly after: readonly string[];
}

export interface Corpus {
  readonly documents: number;
  readonly conversations: number;
  readonly meanLength: number;
}

/**
 * Chosen on samples of three kinds of talk (LoCoMo, half of FriendsQA, REALTALK) and measured on others: docs/benchmarks.md
 * has the figures.
 */
const k1 = 0.6;
const b = 0.4;
const sessionK1 = 0.9;
/** Part of the score of the first, second and third message before and after. */
const beforeWeights = [0.5, 0.1, 0.1];
const afterWeights = [0.4, 0.1, 0.1];
const coverageWeight = 0.6;
/** What is found of the query in a message and the three before and after it, in parts of one message that has all. */
const passageWeight = 0.4;
const sessionWeight = 1;
const speakerBonus = 0.8;
/** A question seldom holds what is asked for. */
const questionFactor = 0.75;
const dateBonus = 1;
/** From the oldest to the newest: of what was said twice the later counts. */
const recencyBonus = 0.1;
/** Of statements with the same, most of the query's words the newest is probably the one that holds: from the oldest to it. */
const replacedBonus = 0.2;
const sameSubject = 0.5;
/** The same where the query asks for the first or the last time. */
const orderBonus = 1;
/** What fits in meaning as well as can be, in parts of what fits in all words. Chosen on three kinds of talk: docs/benchmarks.md. */
const meaningWeight = 2;
/** Standard deviations from the mean nearness that count nothing, and wholly. */
const farDeviations = -1;
const nearDeviations = 5;
/** Part of the fit of the message before and of that after. */
const besideWeight = 0.3;
/** What one standard deviation of the whole conversation counts. */
const conversationWeight = 0.3;
/** The best by words, whose mean nearness tells whether vectors and words agree; chance alone is below the first bound. */
const witnesses = 30;
const fewestWitnesses = 5;
const noAgreement = 0.2;
const fullAgreement = 0.8;

function rarity(documents: number, having: number): number {
  return Math.log(1 + (documents - having + 0.5) / (having + 0.5));
}

export interface ScoreInput {
  readonly terms: readonly QueryTerm[];
  readonly corpus: Corpus;
  readonly dates: readonly NamedDate[];
  /** Which of those on one subject the query asks for. */
  readonly order: Order | null;
  /** How near a message or memory is in meaning, in standard deviations; null without embeddings. */
  readonly meaning: Pick<Meaning, "of" | "ofConversation"> | null;
}

export interface Scored {
  readonly candidate: Candidate;
  readonly score: number;
}

/**
 * Ranks candidates: BM25 over single terms, plus what their neighbours in the talk have, plus how well the whole
 * conversation and, with embeddings, the meaning fits; then what the query says about speaker and time. Best first.
 */
export function rankCandidates(
  candidates: readonly Candidate[],
  { terms, corpus, dates, order, meaning }: ScoreInput,
): Scored[] {
  const weights = terms.map(({ weight, documents }) => weight * rarity(corpus.documents, documents));
  const total = weights.reduce((sum, weight) => sum + weight, 0) || 1;
  const sums = new Map<number, number>();
  const sum = (mask: number) => {
    const known = sums.get(mask);
    if (known !== undefined) return known;
    const value = weights.reduce((all, weight, at) => all + (mask & (1 << at) ? weight : 0), 0);
    sums.set(mask, value);
    return value;
  };
  const own = new Map(
    candidates.map(({ id, mask, length }) => [
      id,
      (sum(mask) * (k1 + 1)) / (1 + k1 * (1 - b + (b * length) / corpus.meanLength)),
    ]),
  );
  const maskById = new Map(candidates.map(({ id, mask }) => [id, mask]));
  const maskOf = (ids: readonly (string | undefined)[]) =>
    ids.reduce((all, id) => all | (maskById.get(id ?? "") ?? 0), 0);
  const fitOfSession = scoreSessions(candidates, terms, corpus.conversations);
  const byTime = candidates.toSorted((one, other) => one.to.getTime() - other.to.getTime());
  const rankById = new Map(byTime.map(({ id }, at) => [id, at / Math.max(1, byTime.length - 1)]));
  const near = (ids: readonly string[], parts: readonly number[]) =>
    parts.reduce((all, part, at) => all + part * (own.get(ids[at] ?? "") ?? 0), 0);
  const newness = rankNewness(candidates, order, (mask) => sum(mask) >= sameSubject * total);
  const newnessBonus = order === null ? replacedBonus : orderBonus;
  const timeBonus = order === "oldest" ? 0 : recencyBonus;
  const fitOfMeaning = createFitOfMeaning(candidates, { own, total, meaning });
  const score = (candidate: Candidate): number => {
    const { id, before, after, conversationId } = candidate;
    const window = maskOf([id, before[0], after[0]]);
    const passage = maskOf([id, ...before, ...after]);
    const words = (own.get(id) ?? 0) + near(before, beforeWeights) + near(after, afterWeights);
    const fit =
      words * (1 + (coverageWeight * sum(window)) / total) +
      sessionWeight * (fitOfSession.get(conversationId ?? "") ?? 0);
    const byWords =
      fit *
      (candidate.isBySpeaker ? 1 + speakerBonus : 1) *
      (candidate.isQuestion ? questionFactor : 1) *
      (1 + dateBonus * fitOfDate(dates, candidate.from, candidate.to)) *
      (1 + timeBonus * (rankById.get(id) ?? 0)) *
      (1 + newnessBonus * (newness.get(id) ?? 0));
    // Beside what the query says of speaker and form: a passage has several, and vectors know that themselves.
    return byWords + passageWeight * sum(passage) + fitOfMeaning(candidate);
  };
  return candidates
    .map((candidate) => ({ candidate, score: score(candidate) }))
    .toSorted((one, other) => other.score - one.score);
}

/**
 * From 0, the oldest, to 1, the newest of the messages that have the same words of a query, if these are its subject. Of all
 * on the subject, where the query asks for an order; the other way round where it asks for the oldest.
 */
function rankNewness(
  candidates: readonly Candidate[],
  order: Order | null,
  isSubject: (mask: number) => boolean,
): ReadonlyMap<string, number> {
  const groups = Map.groupBy(
    candidates.filter(({ kind, mask, isQuestion }) => kind === "message" && !isQuestion && isSubject(mask)),
    ({ mask }) => (order === null ? mask : 0),
  );
  const sign = order === "oldest" ? -1 : 1;
  return new Map(
    [...groups.values()].flatMap((group) =>
      group
        .toSorted((one, other) => sign * (one.to.getTime() - other.to.getTime()))
        .map(({ id }, at): [string, number] => [id, group.length < 2 ? 0 : at / (group.length - 1)]),
    ),
  );
}

interface MeaningInput extends Pick<ScoreInput, "meaning"> {
  /** What each candidate has of the query's words, and the most that one can have. */
  readonly own: ReadonlyMap<string, number>;
  readonly total: number;
}

/**
 * How well the meaning of a candidate, of the messages beside it and of its whole conversation fits, in the measure of the
 * words. Vectors count as much as they agree with the words: of those of a model that knows nothing of these texts nothing is
 * left.
 */
function createFitOfMeaning(
  candidates: readonly Candidate[],
  { own, total, meaning }: MeaningInput,
): (candidate: Candidate) => number {
  if (!meaning) return () => 0;
  const byWords = candidates
    .filter(({ mask }) => mask > 0)
    .toSorted((one, other) => (own.get(other.id) ?? 0) - (own.get(one.id) ?? 0))
    .slice(0, witnesses);
  const mean = byWords.reduce((all, { id }) => all + meaning.of(id), 0) / Math.max(1, byWords.length);
  const trust =
    byWords.length < fewestWitnesses ? 1 : clamp((mean - noAgreement) / (fullAgreement - noAgreement));
  const of = (id: string | undefined) =>
    id === undefined ? 0 : Math.max(0, (meaning.of(id) - farDeviations) / (nearDeviations - farDeviations));
  const ofWhole = (id: string | null) =>
    id === null ? 0 : conversationWeight * Math.max(0, meaning.ofConversation(id));
  return ({ id, before, after, conversationId }) =>
    meaningWeight *
    trust *
    total *
    (of(id) + besideWeight * (of(before[0]) + of(after[0])) + ofWhole(conversationId));
}

const clamp = (share: number) => Math.min(1, Math.max(0, share));

/** How well each conversation fits: BM25 with the conversation as the document, counted over the candidates. */
function scoreSessions(
  candidates: readonly Candidate[],
  terms: readonly QueryTerm[],
  conversations: number,
): Map<string, number> {
  const counts = new Map<string, number[]>();
  for (const { conversationId, mask } of candidates) {
    if (conversationId === null || mask === 0) continue;
    const count = counts.get(conversationId) ?? terms.map(() => 0);
    for (const at of terms.keys()) if (mask & (1 << at)) count[at] = (count[at] ?? 0) + 1;
    counts.set(conversationId, count);
  }
  const having = terms.map((_, at) => [...counts.values()].filter((count) => (count[at] ?? 0) > 0).length);
  const scoreOf = (count: readonly number[]) =>
    terms.reduce((all, { weight }, at) => {
      const often = count[at] ?? 0;
      if (often === 0) return all;
      const saturated = (often * (sessionK1 + 1)) / (often + sessionK1);
      return all + weight * rarity(Math.max(conversations, having[at] ?? 0), having[at] ?? 0) * saturated;
    }, 0);
  return new Map([...counts].map(([id, count]) => [id, scoreOf(count)]));
}
