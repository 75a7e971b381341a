import { cp, mkdir } from "node:fs/promises";
import path from "node:path";
import { addSpeaker, importTalks, recall, vectorModel } from "@atelier/server/assistant";
import { embedMissing } from "@atelier/server/assistant/stages";
import { textModelPath } from "@atelier/server/meaning";
import { type AskedTalk, makeAnswers, makeTalks } from "@atelier/testing/memory";
import { startTestPostgres } from "@atelier/testing/postgres";
import { createTestServices } from "@atelier/testing/services";
import type { Services } from "@atelier/server/services";
import { readPublicTalks } from "./public-talks.ts";
import { quantile } from "./start-and-throughput.ts";

export interface RecallKinds {
  /** A folder with a folder for each public set. */
  readonly talks: string | undefined;
  /** The file of the text model as `atelier models add` stores it. */
  readonly model: string | undefined;
  /** So many users of each kind. */
  readonly users: number;
}

/** How many of the questions a search answered within 5 and 10 hits, and how long each took, ms. */
interface Counted {
  within5: number;
  within10: number;
  readonly times: number[];
}

/** Ranks the ids of a talk for a question, best first. */
type Search = (query: string) => readonly string[] | Promise<readonly string[]>;

const hits = 10;

async function askAll(search: Search, { questions }: AskedTalk, counted: Counted): Promise<void> {
  for (const { text, evidence } of questions) {
    const startedAt = performance.now();
    const found = await search(text);
    counted.times.push(performance.now() - startedAt);
    const rank = found.findIndex((id) => evidence.includes(id));
    counted.within5 += Number(rank >= 0 && rank < 5);
    counted.within10 += Number(rank >= 0 && rank < hits);
  }
}

const words = new Intl.Segmenter("und", { granularity: "word" });
const wordsOf = (text: string) =>
  [...words.segment(text.toLowerCase())].filter(({ isWordLike }) => isWordLike).map(({ segment }) => segment);

const k1 = 1.2;
const b = 0.75;

/** Plain BM25 over the words of single messages: no stems, no neighbours, no speakers. */
function createBm25({ messages }: AskedTalk): Search {
  const documents = messages.map(({ id, text }) => ({ id, words: wordsOf(text) }));
  const mean = documents.reduce((sum, each) => sum + each.words.length, 0) / documents.length;
  const having = new Map<string, number>();
  for (const each of documents)
    for (const word of new Set(each.words)) having.set(word, (having.get(word) ?? 0) + 1);
  return (query) => {
    const asked = [...new Set(wordsOf(query))].filter((word) => having.has(word));
    const scored = documents.map(({ id, words: said }) => {
      const score = asked.reduce((sum, word) => {
        const often = said.filter((each) => each === word).length;
        const known = having.get(word) ?? 0;
        const rarity = Math.log(1 + (documents.length - known + 0.5) / (known + 0.5));
        return sum + (rarity * often * (k1 + 1)) / (often + k1 * (1 - b + (b * said.length) / mean));
      }, 0);
      return { id, score };
    });
    const found = scored.filter(({ score }) => score > 0).toSorted((one, other) => other.score - one.score);
    return found.slice(0, hits).map(({ id }) => id);
  };
}

/** Facts that change (`makeTalks`) in the form of the other kinds: the current statement is wanted. */
const madeFacts = (): AskedTalk[] =>
  [101, 102].map((seed) => {
    const { messages, facts } = makeTalks({ seed, talks: 150 });
    const questions = facts.map(({ question, currentId }) => ({ text: question, evidence: [currentId] }));
    return { name: `user ${seed}`, messages, questions };
  });

const openCount = (): Counted => ({ within5: 0, within10: 0, times: [] });

function describe(name: string, { within5, within10, times }: Counted): string {
  const percent = (count: number) => ((100 * count) / Math.max(1, times.length)).toFixed(1);
  const ms = [0.5, 0.95].map((share) => quantile([...times], share).toFixed(1)).join(" / ");
  return `${name}: any@5 ${percent(within5)}, any@10 ${percent(within10)}, p50 / p95 ${ms} ms`;
}

/** One kind: plain BM25, the product by words, and with the model the product with vectors, of the same questions. */
async function measureKind(services: Services, talks: readonly AskedTalk[]): Promise<string[]> {
  const [plain, byWords, near] = [openCount(), openCount(), openCount()];
  const withoutModel = {
    ...services,
    env: { ...services.env, LLM_EMBEDDING_MODEL: "local/none", LLM_BASE_URL: undefined },
  };
  const hasModel = vectorModel(services) !== null;
  for (const talk of talks) {
    await askAll(createBm25(talk), talk, plain);
    const userId = await addSpeaker(services.db, talk.name);
    const ids = await importTalks(services.db, userId, talk.messages);
    const foreign = new Map([...ids].map(([id, own]) => [own, id]));
    const searchIn =
      (which: Services): Search =>
      async (query) =>
        (await recall(which, userId, query, { limit: hits })).map(({ id }) => foreign.get(id) ?? "");
    await askAll(searchIn(withoutModel), talk, byWords);
    if (!hasModel) continue;
    await embedMissing(services, { signal: new AbortController().signal, isForced: true });
    await askAll(searchIn(services), talk, near);
  }
  const lines = [describe("plain BM25", plain), describe("by words", byWords)];
  return hasModel ? [...lines, describe("with the text model", near)] : lines;
}

/**
 * What the memory finds, over kinds of talk: two made by code, and public sets where a folder has them. Plain BM25 answers
 * the same questions in the same run.
 */
export async function benchRecallKinds({ talks, model, users }: RecallKinds): Promise<string[]> {
  const postgres = await startTestPostgres();
  const fixture = await createTestServices();
  const { services } = fixture;
  try {
    if (model !== undefined) {
      await mkdir(path.dirname(textModelPath(services.env)), { recursive: true });
      await cp(model, textModelPath(services.env));
    }
    const kinds: [string, AskedTalk[]][] = [
      ["answers in eight languages, made by code", makeAnswers()],
      ["facts that change, made by code", madeFacts()],
      ...(talks === undefined ? [] : await readPublicTalks(talks)),
    ];
    const lines: string[] = [];
    for (const [name, all] of kinds) {
      const chosen = all.slice(0, users);
      const questions = chosen.reduce((sum, talk) => sum + talk.questions.length, 0);
      lines.push(`${name}: ${chosen.length} users, ${questions} questions`);
      for (const line of await measureKind(services, chosen)) lines.push(`  ${line}`);
    }
    return lines;
  } finally {
    await fixture.close();
    await postgres.stop();
  }
}
