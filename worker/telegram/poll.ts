import { botProblem, noteProblem } from "@atelier/server/nodes";
import { sourceLocale } from "@atelier/server/locales";
import { backoffMs } from "@atelier/server/platform";
import type { Services } from "@atelier/server/services";
import {
  beginUpdate,
  type BotUpdate,
  endUpdate,
  holdPolling,
  type Poller,
  releasePolling,
  storeOffset,
  TelegramError,
  type TelegramErrorKind,
} from "@atelier/server/telegram";
import { type Loop, startLoop } from "../base/loop.ts";
import { wordsIn } from "@atelier/server/words";
import { answer } from "./answer.ts";
import type { Bot } from "./bot.ts";
import { askDue } from "./photos.ts";

export interface Polling extends Pick<Loop, "stop"> {
  /** Whether this process is the poller. */
  readonly isHeld: () => boolean;
}

/** Pauses after failed requests in a row: each is twice as long as the one before. */
const firstPauseMs = 2_000;
const longestPauseMs = 60_000;
/** Until updates that were not handled are read again. */
const againMs = 2_000;
/** An update that failed this often is given up. */
const maxTries = 3;
/** Chats that are answered at the same time. */
const maxChats = 8;

interface PollingOptions {
  readonly waitSeconds: number;
  readonly nodeId: () => string | null;
}

/** Reads updates while this process holds the lease. */
export function startPolling(bot: Bot, poller: Poller, { waitSeconds, nodeId }: PollingOptions): Polling {
  const { services, telegram, signal } = bot;
  let offset: number | null = null;
  let heldUntilMs = -Infinity;
  let awaitsMore = false;
  const failures = followFailures(services, nodeId);
  const isHeld = () => performance.now() < heldUntilMs && !signal.aborted;

  const lease = startLoop(services.log, "telegram lease", async () => {
    const sinceMs = performance.now();
    if (signal.aborted) return poller.leaseMs;
    const held = await holdPolling(services, poller);
    const wasHeld = isHeld();
    heldUntilMs = held ? sinceMs + poller.leaseMs : -Infinity;
    if (!held) {
      await failures.end("another worker reads the updates of the bot");
      return poller.leaseMs / 3;
    }
    offset = held.offset;
    if (!wasHeld) {
      services.log.info("this worker reads the updates of the Telegram bot");
      polling.wake();
    }
    return poller.leaseMs / 3;
  });

  const polling = startLoop(services.log, "telegram", async () => {
    if (!isHeld()) return poller.leaseMs;
    // The lease may end while Telegram holds the request; another process reads then.
    const leftMs = Math.max(1, Math.ceil(heldUntilMs - performance.now()));
    const until = AbortSignal.any([signal, AbortSignal.timeout(leftMs)]);
    try {
      const updates = await telegram.getUpdates({ offset, waitSeconds: awaitsMore ? 1 : waitSeconds }, until);
      await failures.end("the updates of the bot are read again");
      const next = await handleAll(bot, poller, updates);
      if (next !== null) {
        await storeOffset(services, poller, next.offset);
        offset = next.offset;
      }
      awaitsMore = await askDue(bot);
      return next?.isComplete === false ? againMs : 0;
    } catch (error) {
      if (!(error instanceof TelegramError)) throw error;
      return until.aborted ? 0 : await failures.note(error);
    }
  });

  return {
    isHeld,
    async stop() {
      await Promise.all([lease.stop(), polling.stop()]);
      if (heldUntilMs === -Infinity) return;
      await releasePolling(services, poller).catch((error: unknown) => {
        services.log.warn({ err: error }, "the lease of the bot was not given back, it ends by itself");
      });
    },
  };
}

/** What an admin has to do; of every other failure nothing but waiting. */
const advice: Readonly<Partial<Record<TelegramErrorKind, string>>> = {
  webhook:
    "The Telegram bot has a webhook, so its messages do not reach the studio: delete the webhook (deleteWebhook of the Bot API), or give the studio a bot of its own.",
  conflict:
    "Another program reads the messages of the Telegram bot: end it, or give the studio a bot of its own.",
  token: "Telegram refuses the token of the bot: set TELEGRAM_BOT_TOKEN to the one that BotFather shows.",
};

/** Says a failure once, until reading works again or fails in another way, and shows it to admins. */
function followFailures(services: Services, nodeId: () => string | null) {
  let last: TelegramErrorKind | null = null;
  let count = 0;
  const show = async (reason: string | null) => {
    const node = nodeId();
    if (node === null) return;
    await noteProblem(services, node, { what: botProblem, reason }).catch((error: unknown) => {
      services.log.warn({ err: error }, "why the bot is not read could not be stored");
    });
  };
  return {
    /** Returns the pause, ms. */
    async note({ kind, status, retryAfterMs }: TelegramError): Promise<number> {
      const reason = advice[kind] ?? null;
      if (kind !== last) {
        last = kind;
        count = 0;
        const text = reason ?? "the updates of the bot could not be read";
        services.log[reason ? "error" : "warn"]({ kind, status }, text);
        await show(reason);
      }
      count += 1;
      return Math.max(retryAfterMs ?? 0, backoffMs(count, { firstMs: firstPauseMs, mostMs: longestPauseMs }));
    },
    async end(text: string): Promise<void> {
      if (last === null) return;
      services.log.info(text);
      last = null;
      await show(null);
    },
  };
}

interface Handled {
  /** The first update that is not handled yet. */
  readonly offset: number;
  readonly isComplete: boolean;
}

/** Handles updates, those of one chat in their order; null without any. */
async function handleAll(bot: Bot, poller: Poller, updates: readonly BotUpdate[]): Promise<Handled | null> {
  const last = updates.at(-1);
  if (!last) return null;
  const failed: number[] = [];
  const chats = [...Map.groupBy(updates, ({ chatId }) => chatId).values()];
  const work = async () => {
    for (let chat = chats.shift(); chat; chat = chats.shift()) {
      const failedAt = await handleChat(bot, poller, chat);
      if (failedAt !== null) failed.push(failedAt);
    }
  };
  await Promise.all(Array.from({ length: maxChats }, work));
  const isComplete = failed.length === 0;
  return { offset: isComplete ? last.id + 1 : Math.min(...failed), isComplete };
}

/** Returns the id of an update that is to be handled again, with those after it. */
async function handleChat(bot: Bot, poller: Poller, updates: readonly BotUpdate[]): Promise<number | null> {
  for (const update of updates) {
    const isDone = await handle(bot, poller, update).catch((error: unknown) => {
      bot.services.log.warn({ err: error, updateId: update.id }, "an update of the bot was not handled");
      return false;
    });
    if (!isDone) return update.id;
  }
  return null;
}

async function handle(bot: Bot, { botId }: Poller, update: BotUpdate): Promise<boolean> {
  const { services, signal } = bot;
  if (update.type === "foreign") return true;
  const key = { botId, updateId: update.id };
  const tries = await beginUpdate(services, key);
  if (tries === null) return true;
  try {
    await answer(bot, update);
  } catch (error) {
    if (signal.aborted || tries < maxTries) throw error;
    services.log.error({ err: error, updateId: update.id }, "an update of the bot was given up");
    const { t } = await wordsIn(update.locale ?? sourceLocale);
    await bot.say(update.chatId, t("bot.tryLater"));
  }
  await endUpdate(services, key);
  return true;
}
