import { wordsFor } from "@atelier/server/accounts/plain";
import { get, type JobView, readWaiting } from "@atelier/server/jobs";
import { toAppError } from "@atelier/server/platform";
import {
  endMessage,
  findDueMessages,
  type JobMessage,
  noteShown,
  postponeMessages,
  TelegramError,
  unlinkChat,
} from "@atelier/server/telegram";
import { sentenceOf, speakIn, type Words } from "@atelier/server/words";
import { type Loop, startLoop } from "../base/loop.ts";
import type { Bot } from "./bot.ts";

const pollMs = 1_000;

interface ProgressInput {
  /** Only the poller edits, so that two processes never show different things. */
  readonly isActive: () => boolean;
  readonly editMs: number;
}

/** Keeps the messages of open jobs up to date. */
export function startProgress(bot: Bot, { isActive, editMs }: ProgressInput): Loop {
  return startLoop(bot.services.log, "telegram progress", async () => {
    if (!isActive()) return pollMs;
    const messages = await findDueMessages(bot.services);
    const owners = Map.groupBy(messages, ({ ownerId }) => ownerId);
    for (const [ownerId, own] of owners) {
      const words = await wordsFor(bot.services, ownerId);
      const { items } = await speakIn(words, () => readWaiting(bot.services, ownerId));
      const byId = new Map(items.map((job) => [job.id, job]));
      for (const message of own) {
        if (bot.signal.aborted) return pollMs;
        await update(bot, message, { words, waiting: byId.get(message.jobId), editMs }).catch(
          (error: unknown) => {
            bot.services.log.warn(
              { err: error, jobId: message.jobId },
              "the progress of a job was not shown",
            );
            return postponeMessages(bot.services, [message.jobId], laterMs);
          },
        );
      }
    }
    return Math.min(pollMs, editMs);
  });
}

type Waiting = Awaited<ReturnType<typeof readWaiting>>["items"][number];

interface Shown {
  readonly words: Words;
  readonly waiting: Waiting | undefined;
  readonly editMs: number;
}

async function update(bot: Bot, message: JobMessage, { words, waiting, editMs }: Shown): Promise<void> {
  const { services, telegram, signal } = bot;
  const { jobId, ownerId, chatId, messageId } = message;
  const job = await get(services, { ownerId, id: jobId });
  const isOver = job.endedAt !== null;
  const text = describeJob(words, job, waiting);
  const buttons = isOver ? {} : { buttons: [[{ text: words.t("bot.cancel"), data: `stop:${jobId}` }]] };
  try {
    if (messageId === null) {
      const sent = await telegram.sendText({ chatId, text, ...buttons }, signal);
      await noteShown(services, { jobId, messageId: sent, text, restMs: editMs });
    } else if (text !== message.text) {
      await telegram.editText({ chatId, messageId, text, ...buttons }, signal);
      await noteShown(services, { jobId, messageId, text, restMs: editMs });
    } else {
      await postponeMessages(services, [jobId], pollMs);
    }
  } catch (error) {
    if (!(await isPassable(bot, message, error))) return;
    if (messageId !== null) await noteShown(services, { jobId, messageId, text, restMs: editMs });
  }
  if (isOver) await endMessage(services, { ...message, isCompleted: job.status === "completed" });
}

/** After how long a message is edited that Telegram gave no answer about. */
const laterMs = 5_000;

/** Whether the end of the job may be noted although the message does not show it. */
async function isPassable(bot: Bot, { jobId, chatId }: JobMessage, error: unknown): Promise<boolean> {
  const { services } = bot;
  if (!(error instanceof TelegramError)) throw error;
  const { kind, status, retryAfterMs } = error;
  if (kind === "gone") {
    await unlinkChat(services, chatId);
    return false;
  }
  // The person deleted the message, or it shows the text already: the result comes in a message of its own.
  if (kind === "missing" || kind === "unchanged" || kind === "refused") {
    await postponeMessages(services, [jobId], laterMs);
    return true;
  }
  services.log.info({ kind, status, jobId }, "the progress of a job was not shown in Telegram");
  await postponeMessages(services, [jobId], retryAfterMs ?? laterMs);
  return false;
}

/** One line about a job, in the words of the website. */
export function describeJob(words: Words, job: JobView, waiting?: Waiting): string {
  const { t } = words;
  const kind = t(`jobs.kinds.${job.kind}`);
  switch (job.status) {
    case "pending":
    case "queued":
      return describeWaiting(words, kind, waiting);
    case "waiting_for_engine":
      return t("bot.job.starting", { kind });
    case "processing":
      return t("bot.job.running", { kind, percent: Math.round(job.progress * 100) });
    case "completed":
    case "cancelled":
      return t(`bot.job.${job.status}`, { kind });
    case "failed":
      return t("bot.job.failed", { kind, reason: sentenceOf(words, job.error ?? toAppError(null)) });
  }
}

const minuteMs = 60_000;

function describeWaiting({ t }: Words, kind: string, waiting: Waiting | undefined): string {
  if (waiting === undefined) return t("bot.job.waiting", { kind });
  const {
    position,
    waitMs: [, high],
    isLive,
    reason,
  } = waiting;
  if (!isLive)
    return reason === null ? t("bot.job.waiting", { kind }) : t("bot.job.waitingReason", { kind, reason });
  const minutes = Math.ceil(high / minuteMs);
  return minutes <= 1
    ? t("bot.job.waitingSoon", { kind, position })
    : t("bot.job.waitingPlace", { kind, position, minutes });
}
