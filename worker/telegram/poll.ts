import {
  beginUpdate,
  type BotUpdate,
  endUpdate,
  holdPolling,
  type Poller,
  releasePolling,
  storeOffset,
  TelegramError,
} from "@atelier/server/telegram";
import { type Loop, startLoop } from "../loop.ts";
import { answer } from "./answer.ts";
import type { Bot } from "./bot.ts";
import { askDue } from "./pictures.ts";

export interface Polling extends Pick<Loop, "stop"> {
  /** Whether this process is the poller. */
  readonly isHeld: () => boolean;
}

/** Pauses after a failed request. */
const pausesMs = { conflict: 5_000, token: 60_000, other: 2_000 };
/** An update that failed this often is given up. */
const maxTries = 3;
/** Chats that are answered at the same time. */
const maxChats = 8;

/** Reads updates while this process holds the lease. */
export function startPolling(bot: Bot, poller: Poller, waitSeconds: number): Polling {
  const { services, telegram, signal } = bot;
  let offset: number | null = null;
  let heldUntilMs = -Infinity;
  let awaitsMore = false;
  const isHeld = () => performance.now() < heldUntilMs && !signal.aborted;

  const lease = startLoop(services.log, "telegram lease", async () => {
    const sinceMs = performance.now();
    if (signal.aborted) return poller.leaseMs;
    const held = await holdPolling(services, poller);
    const wasHeld = isHeld();
    heldUntilMs = held ? sinceMs + poller.leaseMs : -Infinity;
    if (!held) return poller.leaseMs / 3;
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
      const next = await handleAll(bot, poller, updates);
      if (next !== null) {
        await storeOffset(services, poller, next.offset);
        offset = next.offset;
      }
      awaitsMore = await askDue(bot);
      return next?.isComplete === false ? pausesMs.other : 0;
    } catch (error) {
      if (!(error instanceof TelegramError)) throw error;
      return until.aborted ? 0 : pauseAfter(error);
    }
  });

  const pauseAfter = (error: TelegramError): number => {
    const { kind, status, retryAfterMs } = error;
    if (kind === "token") services.log.error({ status }, "Telegram refused the bot's token");
    else services.log.warn({ kind, status }, "the updates of the bot could not be read");
    if (kind === "conflict") return pausesMs.conflict;
    return kind === "token" ? pausesMs.token : (retryAfterMs ?? pausesMs.other);
  };

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
    await bot.say(update.chatId, "Something went wrong on our side. Try again later.");
  }
  await endUpdate(services, key);
  return true;
}
