import { checkGuestSpace } from "../images/index.ts";
import { type AppError, isAppError, oneAtATime } from "../platform/index.ts";
import type { Tx } from "../db/index.ts";
import { noteAccepted, withOwnMemory } from "../scheduling/index.ts";
import type { Services } from "../services.ts";
import { type AcceptRules, answerKnown, findKnownJob, keyOfJob, rulesFor } from "./admission.ts";
import { type Draft, type NewJob, prepare, type SubmitOptions } from "./draft.ts";
import { announce, draftOf, type StoredJob } from "./submit.ts";
import { lockSubmits, storeOneOf } from "./submit-many.ts";

/** A request that has no place now; it is answered only if its key is known. */
interface Refused extends Draft {
  readonly refusal: AppError;
}

interface Asked {
  readonly request: unknown;
  readonly options: SubmitOptions;
}

/**
 * Accepts jobs of one submitter as `submit` does, but all of them or none, and returns their ids; the job of a known key is
 * the one that it began. Requests with the same keys at the same time find all of its jobs or none. Throws what `submit` throws.
 */
export async function submitTogether(
  services: Services,
  asked: readonly Asked[],
): Promise<readonly string[]> {
  const drafts = await prepareAll(services, asked);
  const submitter = drafts[0]?.options.submitter;
  if (submitter === undefined) return [];
  const { db, config } = services;
  if (submitter.isGuest) await checkGuestSpace(db, config);
  const rules = rulesFor(config, submitter.isGuest);
  const answers = await oneAtATime(`submit of ${submitter.userId}`, () =>
    db.transaction(async (tx) => {
      await lockSubmits(tx, submitter.userId);
      const found: (StoredJob | string)[] = [];
      for (const draft of drafts) found.push(await storeOrFind(tx, draft, { rules, count: drafts.length }));
      return found;
    }),
  );
  announce(
    services,
    answers.filter((answer) => typeof answer !== "string"),
  );
  return answers.map((answer) => (typeof answer === "string" ? answer : answer.job.id));
}

/** Chooses the places one after another, so that each job counts the work of those before it. Stores nothing. */
async function prepareAll(
  services: Services,
  asked: readonly Asked[],
): Promise<readonly (NewJob | Refused)[]> {
  const planning: Services = { ...services, db: withOwnMemory(services.db) };
  const drafts: (NewJob | Refused)[] = [];
  for (const { request, options } of asked) {
    const plain = draftOf(services, request, options);
    const draft = { ...plain, key: await keyOfJob(services.db, plain.request, options) };
    drafts.push(await prepareOne(planning, draft));
  }
  return drafts;
}

async function prepareOne(planning: Services, draft: Draft): Promise<NewJob | Refused> {
  try {
    const job = await prepare(planning, draft);
    const { placed, share } = job.quote;
    const { need } = placed.candidate;
    noteAccepted(planning.db, { queue: placed.queue, need, cost: placed.wait.cost, share, isQueued: false });
    return job;
  } catch (error) {
    if (draft.key === null || !isAppError(error)) throw error;
    return { ...draft, refusal: error };
  }
}

async function storeOrFind(
  tx: Tx,
  draft: NewJob | Refused,
  limits: { readonly rules: AcceptRules; readonly count: number },
): Promise<StoredJob | string> {
  if (!("refusal" in draft)) {
    const answer = await storeOneOf(tx, draft, limits);
    return "job" in answer ? answer : answerKnown(answer).id;
  }
  const known = await findKnownJob(tx, draft.key);
  if (known === null) throw draft.refusal;
  return answerKnown(known).id;
}
