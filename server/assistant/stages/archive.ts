import { setTimeout as sleep } from "node:timers/promises";
import { z } from "zod";
import { inTurn, renewTurn, type Turn } from "../../leases/index.ts";
import { readCaps } from "../../providers/index.ts";
import type { Services } from "../../services.ts";
import {
  type EndedPart,
  findEndedParts,
  hasOpenQuestions,
  type NewMemory,
  storePart,
} from "../archive-log.ts";
import { stageModel } from "../models.ts";
import { readPrompt } from "../prompts.ts";
import { askForJson, type PromptedCall } from "./ask-json.ts";
import type { CallResult, CallServices } from "./calls.ts";
import { ModelError } from "./model-errors.ts";
import { type PartRound, startRound } from "./part-round.ts";

export interface ArchiveInput {
  readonly signal: AbortSignal;
  /** Also when it is not due. */
  readonly isForced: boolean;
  /** Also talks that may still go on; what is said later makes a memory of its own. */
  readonly takesYoung?: boolean;
}

export interface Archived {
  /** Parts of talks that were read, and memories made of them. */
  readonly parts: number;
  readonly memories: number;
}

/** The archivist waits this long for answers that are being written, then it goes on beside them. */
const patienceMs = 30_000;
const lookMs = 1_000;

/**
 * Makes memories of talks that have ended, one part after the other. Null when it is not due or another process does
 * it. A talk that fails stops no other one, and what cannot be done now is done the next time; nothing is archived twice.
 */
export async function archive(
  services: Services,
  { signal, isForced, takesYoung = false }: ArchiveInput,
): Promise<Archived | null> {
  const counts = { parts: 0, memories: 0 };
  const everyMs = services.config.assistant.archiveEveryS * 1_000;
  try {
    return await inTurn(services, { name: "archivist", everyMs, isForced, signal }, async (turn) => {
      const round = startRound(services, "archivist", { isForced });
      const archiving = { takesYoung, round, skipped: new Set<string>(), turn, signal, counts };
      while (await archiveNext(services, archiving));
      return counts;
    });
  } catch (error) {
    // Tried again at the usual time, not at once: a limit or an empty account does not pass in a moment.
    if (signal.aborted || !(error instanceof ModelError)) throw error;
    services.log.warn({ err: error }, "the archivist cannot go on now");
    return counts;
  }
}

interface Archiving {
  readonly takesYoung: boolean;
  readonly round: PartRound;
  /** Users whose limit of spending is reached. */
  readonly skipped: Set<string>;
  readonly turn: Turn;
  readonly signal: AbortSignal;
  readonly counts: { parts: number; memories: number };
}

/** False when nothing is left, the process stops or the work was lost to another one. */
async function archiveNext(services: Services, archiving: Archiving): Promise<boolean> {
  const { takesYoung, round, skipped, signal } = archiving;
  const leftOut = { conversationIds: round.leftOut(), ownerIds: [...skipped] };
  const parts = await findEndedParts(services, { takesYoung, leftOut });
  if (parts.length === 0) return round.takeFailed();
  const failuresOf = ({ conversationId }: EndedPart) => round.failuresOf(conversationId);
  for (const part of parts.toSorted((a, b) => failuresOf(a) - failuresOf(b))) {
    if (skipped.has(part.ownerId)) continue;
    try {
      if (!(await archivePart(services, archiving, part))) return false;
    } catch (error) {
      if (signal.aborted) throw error;
      if (isOverBudget(error)) skipped.add(part.ownerId);
      else round.noteFailed([part.conversationId], error);
      const { conversationId } = part;
      services.log.warn(
        { err: error, conversationId },
        "a talk could not be archived, it is tried again later",
      );
    }
  }
  return true;
}

const isOverBudget = (error: unknown) => error instanceof ModelError && error.reach === "owner";

/** False when the process stops or the work was lost to another one. */
async function archivePart(services: Services, archiving: Archiving, part: EndedPart): Promise<boolean> {
  const { round, turn, signal, counts } = archiving;
  await waitForAnswers(services, signal);
  if (signal.aborted || !(await renewTurn(services, turn))) return false;
  const memory = await summarize(services, archiving, part);
  if (memory === "too long") {
    for (const half of halvesOf(part)) if (!(await archivePart(services, archiving, half))) return false;
    return true;
  }
  round.noteDone([part.conversationId]);
  if (!(await storePart(services, part, memory))) return true;
  counts.parts += 1;
  counts.memories += memory === null ? 0 : 1;
  return true;
}

const isSaid = ({ text }: EndedPart["messages"][number]) => text !== "";

/** Each with half of what the user said; the jobs go with the last one. */
function halvesOf(part: EndedPart): EndedPart[] {
  const said = part.messages.filter(isSaid);
  const middle = said[Math.ceil(said.length / 2)];
  const at = part.messages.findIndex((message) => message === middle);
  return [
    { ...part, messages: part.messages.slice(0, at), jobs: [] },
    { ...part, messages: part.messages.slice(at) },
  ];
}

async function waitForAnswers(services: Services, signal: AbortSignal): Promise<void> {
  const endMs = performance.now() + patienceMs;
  while (performance.now() < endMs && !signal.aborted && (await hasOpenQuestions(services)))
    await sleep(lookMs, null, { signal }).catch(() => undefined);
}

const memorySchema = z.object({ summary: z.string(), tags: z.array(z.string()) });
const maxSummary = 2_000;
const maxTags = 8;
const triesToParse = 2;

/** The refusals of a part, while others are not refused, after which a rule makes its memory. */
const lastRefusal = 3;

/** The memory of a part; null when nothing is worth remembering. Throws `ModelError`. */
async function summarize(
  services: Services,
  { round, signal }: Archiving,
  part: EndedPart,
): Promise<NewMemory | null | "too long"> {
  const said = part.messages.filter(isSaid);
  if (said.length === 0) return null;
  const model = stageModel(services, "archivist");
  if (!model) return summarizeByRule(part);
  const prompt = await readPrompt(services, "archivist");
  const messages = said.map(({ text, at }) => ({ at: at.toISOString(), text }));
  const call = {
    runId: null,
    causedByKeyId: part.apiKeyId,
    ownerId: part.ownerId,
    stage: "archivist",
    model,
    promptVersion: prompt.version,
  } as const;
  const material = { messages, jobs: part.jobs };
  for (let left = triesToParse; left > 0; left -= 1) {
    try {
      const { value } = await askArchivist(services, { call, text: prompt.text, signal }, material);
      round.noteAnswer();
      return value;
    } catch (error) {
      if (!(error instanceof ModelError)) throw error;
      if (error.class === "over_limit" && said.length > 1) return "too long";
      if (await isForGood(services, { error, round, part })) return summarizeByRule(part);
      if (error.class !== "invalid_output") throw error;
      round.noteAnswer();
      services.log.warn({ err: error, left: left - 1 }, "a summary could not be read");
    }
  }
  return summarizeByRule(part);
}

/**
 * Whether no model will ever make the memory of the part, while it answers about others: it is too long, or is refused again
 * and again. Or its user may spend nothing.
 */
async function isForGood(
  { db, config }: Services,
  { error, round, part }: { readonly error: ModelError; readonly round: PartRound; readonly part: EndedPart },
): Promise<boolean> {
  if (error.class === "over_limit") return round.hasAnswered();
  if (error.class === "refused" && error.reach === "part")
    return round.hasAnswered() && round.refusalsOf(part.conversationId) + 1 >= lastRefusal;
  if (error.class !== "over_budget") return false;
  const { dailyUsd, monthlyUsd } = await readCaps(db, config, part.ownerId);
  return dailyUsd === 0 || monthlyUsd === 0;
}

interface ArchivistMaterial {
  /** What the user said; `at` is ISO 8601, UTC. */
  readonly messages: readonly { readonly at: string; readonly text: string }[];
  readonly jobs: readonly string[];
}

/**
 * Asks the model for the memory of a talk; null when nothing is worth remembering. Throws `ModelError`, `invalid_output` for
 * an answer that cannot be read.
 */
export async function askArchivist(
  services: CallServices,
  prompted: PromptedCall,
  material: ArchivistMaterial,
): Promise<CallResult<NewMemory | null>> {
  const { value, usage } = await askForJson(services, prompted, { schema: memorySchema, material });
  const summary = value.summary.trim().slice(0, maxSummary).toWellFormed().replaceAll("\0", "");
  const tags = value.tags.map((tag) => tag.toLowerCase().trim().slice(0, 40)).filter(Boolean);
  const memory = summary === "" ? null : { summary, tags: [...new Set(tags)].slice(0, maxTags) };
  return { value: memory, usage };
}

const ruleLength = 800;
const shortestTag = 5;

/** Without a model the user's own words are the memory, shortened; its tags are the words that come most often. */
export function summarizeByRule({ messages, jobs }: EndedPart): NewMemory {
  const said = messages.map(({ text }) => text.replaceAll(/\s+/g, " ").trim()).filter(Boolean);
  const made = jobs.length > 0 ? ` Started: ${jobs.join("; ")}.` : "";
  const summary = `The user said: ${said.join(" / ")}`.slice(0, ruleLength).toWellFormed() + made;
  const counts = new Map<string, number>();
  for (const word of said
    .join(" ")
    .toLowerCase()
    .match(/\p{L}+/gu) ?? [])
    if (word.length >= shortestTag) counts.set(word, (counts.get(word) ?? 0) + 1);
  const tags = [...counts].toSorted((a, b) => b[1] - a[1]).map(([word]) => word);
  return { summary: summary.slice(0, maxSummary), tags: tags.slice(0, maxTags) };
}
