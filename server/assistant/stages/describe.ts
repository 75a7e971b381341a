import {
  findUndescribed,
  isStillUndescribed,
  noteTry,
  storeModelDescription,
  type Undescribed,
} from "../../images/index.ts";
import { firstIdAt } from "../../platform/index.ts";
import { inTurn, renewTurn, type Turn } from "../../leases/index.ts";
import { hasOpenQuestions } from "../archive-log.ts";
import { learnRefused, readModelNote } from "../model-notes.ts";
import { describerTurn, type StageModel, visionModel } from "../models.ts";
import { askAboutPicture, type DescribeServices, requireAnswer } from "./ask-picture.ts";
import { ModelError } from "./model-errors.ts";

interface DescribeInput {
  readonly signal: AbortSignal;
  /** Only pictures of the last hour; else all. */
  readonly isRecent: boolean;
}

interface Descriptions {
  readonly described: number;
  /** No picture is left that can be described now. */
  readonly isWhole: boolean;
}

/** Pauses after failures of the model: they double up to the longest one. */
const firstRetryMs = 30_000;
const longestRetryMs = 3_600_000;
const recentMs = 3_600_000;
const lastId = "ffffffff-ffff-ffff-ffff-ffffffffffff";
/** New pictures come first again after so many. */
const picturesAtOnce = 8;

/**
 * Has the model of `LLM_VISION_MODEL` describe the pictures that nothing says anything about, newest first and one at a time.
 * Of several processes one does it; what was not stored when it ended is asked for again. Questions of the assistant go
 * before it. Null without such a model, while it takes no pictures, and when another process does it or the model has to
 * rest. Throws what ended the work.
 */
export async function describePictures(
  services: DescribeServices,
  { signal, isRecent }: DescribeInput,
): Promise<Descriptions | null> {
  const model = visionModel(services);
  if (model === null || (await takesNone(services, model)) || (await hasOpenQuestions(services))) return null;
  const pauses = { everyMs: 0, retryMs: firstRetryMs, mostRetryMs: longestRetryMs };
  const answers = { good: 0, faultsInRow: 0 };
  const hasTried = () => answers.good > 0;
  return inTurn(services, { name: describerTurn, ...pauses, hasTried, signal }, async (turn) => {
    const round: Round = { model, turn, signal, answers };
    const find = { model: model.id, most: picturesAtOnce };
    let described = 0;
    let before = lastId;
    for (;;) {
      let found = await findUndescribed(services.db, { ...find, after: firstIdAt(Date.now() - recentMs) });
      if (found.length === 0 && !isRecent) {
        found = await findUndescribed(services.db, { ...find, before });
        before = found.at(-1)?.id ?? before;
      }
      if (found.length === 0) return { described, isWhole: true };
      for (const picture of found) {
        const result = await describeOne(services, round, picture);
        if (result === "over") return { described, isWhole: false };
        if (result === "described") described += 1;
      }
    }
  });
}

/** Known of a model that takes no pictures; it is asked again after a day, and with other settings. */
const noPictures = "pictures";

async function takesNone(services: DescribeServices, { id }: StageModel): Promise<boolean> {
  return (await readModelNote(services, id)).refused.includes(noPictures);
}

interface Round {
  readonly model: StageModel;
  readonly turn: Turn;
  readonly signal: AbortSignal;
  /** Good ones, and those in a row that were none: after some of them it is no matter of the picture. */
  readonly answers: { good: number; faultsInRow: number };
}

const mostFaultsInRow = 3;

/** `over`: the process ends, the work was lost to another one, or somebody asks the assistant. */
async function describeOne(
  services: DescribeServices,
  round: Round,
  picture: Undescribed,
): Promise<"described" | "left" | "over"> {
  const { model, turn, signal } = round;
  const { id } = picture;
  if (signal.aborted || !(await renewTurn(services, turn)) || (await hasOpenQuestions(services)))
    return "over";
  if (!(await isStillUndescribed(services.db, id))) return "left";
  const watch = watchOver(services, id);
  try {
    const asking = { model, ownerId: picture.ownerId, signal: AbortSignal.any([signal, watch.signal]) };
    // Only beside an answer of the server does its end tell of the picture, which may be the only one.
    if (picture.wasTried && round.answers.good === 0) {
      await requireAnswer(services, asking);
      round.answers.good += 1;
    }
    const text = await askAboutPicture(services, { ...asking, picture });
    round.answers.good += 1;
    round.answers.faultsInRow = 0;
    return (await storeModelDescription(services.db, { id, text })) ? "described" : "left";
  } catch (error) {
    if (signal.aborted) throw error;
    if (watch.reason() !== null) return watch.reason() === "asked" ? "over" : "left";
    await noteFailure(services, round, { id, error });
    return "left";
  } finally {
    watch.close();
  }
}

/** Keeps the failure with the picture. Throws it when the next picture would fail, too. */
async function noteFailure(
  services: DescribeServices,
  { model, answers }: Round,
  { id, error }: { readonly id: string; readonly error: unknown },
): Promise<void> {
  // An account that was deleted meanwhile takes its pictures along.
  if (!(await isStillUndescribed(services.db, id))) return;
  if (!(error instanceof ModelError)) throw error;
  if (error.class === "no_pictures") {
    await learnRefused(services, model.id, [noPictures]);
    throw error;
  }
  const isOfPicture = error.reach === "part";
  // A server that worked before this picture may have failed of it.
  const isPerhaps = ["timeout", "unavailable"].includes(error.class) && answers.good > 0;
  await noteTry(services.db, { id, model: model.id, isCounted: isOfPicture || isPerhaps });
  services.log.info({ err: error, imageId: id }, "a picture was not described");
  if (!isOfPicture || (answers.faultsInRow += 1) >= mostFaultsInRow) throw error;
}

const watchMs = 1_000;

/** Ends a call when somebody asks the assistant, which may share the model's only place, or the picture is not to be described any more. */
function watchOver(services: DescribeServices, id: string) {
  const over = new AbortController();
  let reason: "asked" | "unwanted" | null = null;
  let isLooking = false;
  const look = async () => {
    if (await hasOpenQuestions(services)) reason = "asked";
    else if (!(await isStillUndescribed(services.db, id))) reason = "unwanted";
    if (reason !== null) over.abort(new Error("the description is not wanted now"));
  };
  const begin = () => {
    if (isLooking || over.signal.aborted) return;
    isLooking = true;
    look()
      .catch((error: unknown) => services.log.debug({ err: error }, "a description could not be watched"))
      .finally(() => (isLooking = false));
  };
  const timer = setInterval(begin, watchMs);
  const unsubscribe = services.hints.subscribe(({ type }) => {
    if (type === "run") begin();
  });
  return {
    signal: over.signal,
    reason: () => reason,
    close() {
      clearInterval(timer);
      unsubscribe();
    },
  };
}
