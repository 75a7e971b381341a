import { findMeaning, type RecallServices } from "./meaning.ts";
import { isStemOfName, namedSpeakers, readDates, readOrder } from "./query.ts";
import {
  candidateLimit,
  mergeNeighbours,
  type Period,
  readCandidates,
  readByVectors,
  type Reader,
  readNeighbours,
  readTexts,
  type RecallHit,
  type Wanted,
  whereOf,
} from "./rows.ts";
import { type Candidate, rankCandidates, type ScoreInput } from "./score.ts";
import { readCorpus, readTerms, type Term } from "./stems.ts";
import type { Meaning } from "../../meaning/index.ts";

export type { RecallHit } from "./rows.ts";

export interface RecallOptions {
  readonly limit: number;
  /** Only what was said within it. */
  readonly period?: Period | null;
  /** Only memories with one of these tags. */
  readonly tags?: readonly string[];
  /** The question that it is for. */
  readonly runId?: string | null;
  /** Ends the call of the model of embeddings. */
  readonly signal?: AbortSignal;
}

/** The best of them, whose neighbours are read. */
const neighbourhoods = 100;
/** A name says less than a thing: both speakers of a talk say it. */
const nameWeight = 0.6;

/**
 * What a user's memory has about a query, best first: messages and memories, found by stems and, where a model of embeddings
 * is set up, by meaning; ranked by `score.ts`. Nothing of another user is read: each stem in the index belongs to its
 * owner, and vectors are searched within one owner.
 */
export async function recall(
  services: RecallServices,
  userId: string,
  query: string,
  { limit, period = null, tags = [], runId = null, signal = new AbortController().signal }: RecallOptions,
): Promise<RecallHit[]> {
  const reader: Reader = { db: services.db, userId, where: whereOf(period, tags) };
  const [words, meaning] = await Promise.all([
    readByWords(reader, query),
    findMeaning(services, { userId, query, period, runId, signal }),
  ]);
  const near = meaning ? await readNear(reader, { words, meaning, isWhole: tags.length === 0 }) : [];
  if (words.found.length + near.length === 0) return [];
  const { wanted } = words;
  const input = { ...words.input, meaning };
  const all = [...words.found, ...near];
  await meaning?.learn(all.map(({ id }) => id));
  const best = rankCandidates(all, input).slice(0, neighbourhoods);
  const around = await readNeighbours(
    reader,
    best.map(({ candidate }) => candidate),
    wanted,
  );
  await meaning?.learn(around.map(({ id }) => id));
  const ranked = rankCandidates(mergeNeighbours(all, around), input).slice(0, limit);
  return readTexts(reader, ranked);
}

interface ByWords {
  readonly wanted: Wanted;
  readonly input: Omit<ScoreInput, "meaning">;
  readonly found: readonly Candidate[];
}

async function readByWords(reader: Reader, query: string): Promise<ByWords> {
  const { order, rest } = readOrder(query);
  const [corpus, terms] = await Promise.all([readCorpus(reader), readTerms(reader, rest)]);
  const speakers = namedSpeakers(query, corpus.speakers);
  const weighed = terms.map((term): Term => {
    const stem = term.key.slice(term.key.indexOf(" ") + 1);
    return speakers.some((name) => isStemOfName(stem, name)) ? { ...term, weight: nameWeight } : term;
  });
  const wanted = { terms, speakers };
  const rare = chooseTerms(terms);
  const found = rare.length === 0 ? [] : await readCandidates(reader, { ...wanted, rare });
  return { wanted, input: { terms: weighed, corpus, dates: readDates(query), order }, found };
}

interface NearInput {
  readonly words: ByWords;
  readonly meaning: Meaning;
  /** Whether the conditions leave out nothing but what the vectors know to be outside of the period. */
  readonly isWhole: boolean;
}

/** What is near in meaning, as the database has it now: what was deleted meanwhile is not. */
async function readNear(reader: Reader, { words, meaning, isWhole }: NearInput): Promise<Candidate[]> {
  const known = new Set(words.found.map(({ id }) => id));
  const wanted = meaning.near.filter(({ id }) => !known.has(id));
  if (wanted.length === 0) return [];
  const near = await readByVectors(reader, wanted, words.wanted);
  if (isWhole && near.length < wanted.length) {
    const live = new Set(near.map(({ id }) => id));
    meaning.forget(wanted.map(({ id }) => id).filter((id) => !live.has(id)));
  }
  return near;
}

/** The rarest stems whose rows can be read together; at least one. */
function chooseTerms(terms: readonly Term[]): Term[] {
  let rows = 0;
  return terms
    .toSorted((one, other) => one.documents - other.documents)
    .filter(({ documents }, at) => at === 0 || (rows += documents) <= candidateLimit);
}
