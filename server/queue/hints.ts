import type { Later } from "../platform/index.ts";
import type {
  HintMessage,
  Hints,
  JobHint,
  LiveMessage,
  OnConnectionError,
  QueueConnection,
} from "./index.ts";
import { postgresHints } from "./postgres.ts";
import { redisHints } from "./redis.ts";

interface HintOptions {
  readonly onError: OnConnectionError;
  /** Gets the promise of each message that is not sent yet. */
  readonly later: Later;
}

/** Opens the hints of a process; nothing connects before the first publish or subscription. */
export function createHints(connection: QueueConnection, options: HintOptions): Hints {
  const open = connection.backend === "redis" ? redisHints : postgresHints;
  return createHintChannel(open(connection.url, options.onError), options);
}

/** `progress` carries every live message; workers of the version before know it under this name. */
export type HintChannelName = "hints" | "progress";

export interface TextListener {
  readonly onText: (text: string) => void;
  readonly onHeard: () => void;
}

/** Carries texts between processes; one implementation per backend. */
export interface HintTransport {
  send(channel: HintChannelName, text: string): Promise<void>;
  /** Called for the first subscription of a channel. Calls `onHeard` each time the server begins to send it. */
  listen(channel: HintChannelName, listener: TextListener): void;
  /** Called when the last subscription of the channel has ended. */
  unlisten(channel: HintChannelName): Promise<void>;
  close(): Promise<void>;
}

const itemsPerMessage = 60;

/**
 * The hints of a process over a transport. A lost one costs the pause of the poll beside it: a second for a job, up to 15 for a
 * question.
 */
export function createHintChannel(transport: HintTransport, { onError, later }: HintOptions): Hints {
  const send = (channel: HintChannelName, message: HintMessage | LiveMessage) =>
    transport.send(channel, JSON.stringify(message)).catch(onError);
  const jobs = coalesceHints(later, async (newest) => {
    await Promise.all(inParts(newest).map((part) => send("hints", { type: "jobs", jobs: part })));
  });
  const receive = (text: string) => {
    try {
      const message: HintMessage | LiveMessage = JSON.parse(text);
      if (isLive(message)) live.tell(message);
      else hints.tell(message);
    } catch (error) {
      // Every client of the server can send to the channel: an invalid text must not end the process.
      onError(error instanceof Error ? error : new Error(String(error)));
    }
  };
  let isClosed = false;
  /** Who hears the messages of a channel; without anybody the process does not listen to it. */
  const openChannel = <Message>(channel: HintChannelName) => {
    const listeners = new Map<(message: Message) => void, () => void>();
    /** Since the newest first subscription: an answer to an earlier one tells nothing. */
    let listening = { isHeard: false };
    const listen = () => {
      const own = { isHeard: false };
      listening = own;
      const onHeard = () => {
        if (listening !== own) return;
        own.isHeard = true;
        for (const each of listeners.values()) each();
      };
      transport.listen(channel, { onText: receive, onHeard });
    };
    return {
      tell(message: Message) {
        for (const listener of listeners.keys()) listener(message);
      },
      subscribe: (listener: (message: Message) => void, onHeard: () => void = () => undefined) => {
        if (isClosed) return () => undefined;
        const isFirst = listeners.size === 0;
        listeners.set(listener, onHeard);
        if (isFirst) listen();
        else if (listening.isHeard) onHeard();
        return () => {
          // A process that is frozen would be sent what nobody reads, until the server closes its connection.
          if (listeners.delete(listener) && listeners.size === 0)
            later(transport.unlisten(channel).catch(onError));
        };
      },
      clear: () => listeners.clear(),
    };
  };
  const hints = openChannel<HintMessage>("hints");
  const live = openChannel<LiveMessage>("progress");
  const endListeners = new Set<(jobIds: readonly string[]) => void>();

  return {
    publish(message) {
      if (isClosed) return;
      if (message.type === "jobs") jobs.add(message.jobs);
      else if (message.type === "watched")
        for (const jobIds of inParts(message.jobIds)) later(send("hints", { ...message, jobIds }));
      else later(send(isLive(message) ? "progress" : "hints", message));
    },
    subscribe: hints.subscribe,
    subscribeLive: live.subscribe,
    tellEnded(jobIds) {
      for (const listener of endListeners) listener(jobIds);
    },
    onEnded(listener) {
      endListeners.add(listener);
      return () => void endListeners.delete(listener);
    },
    async close() {
      isClosed = true;
      jobs.flush();
      hints.clear();
      live.clear();
      endListeners.clear();
      await transport.close();
    },
  };
}

function isLive(message: HintMessage | LiveMessage): message is LiveMessage {
  return message.type === "progress" || message.type === "answer";
}

function inParts<Item>(items: readonly Item[]): Item[][] {
  const parts: Item[][] = [];
  for (let start = 0; start < items.length; start += itemsPerMessage)
    parts.push(items.slice(start, start + itemsPerMessage));
  return parts;
}

const windowMs = 20;

/** Sends the newest revision of each job: after a pause at once, else with all hints of the same 20 ms. */
function coalesceHints(later: Later, send: (hints: readonly JobHint[]) => Promise<void>) {
  const newest = new Map<string, JobHint>();
  let timer: NodeJS.Timeout | null = null;
  let unsent: PromiseWithResolvers<void> | null = null;
  const flush = () => {
    timer = null;
    const hints = [...newest.values()];
    newest.clear();
    if (hints.length === 0) return;
    const due = unsent;
    unsent = null;
    void send(hints).finally(due?.resolve);
    timer = setTimeout(flush, windowMs);
  };
  return {
    add(hints: readonly JobHint[]) {
      for (const hint of hints) {
        const known = newest.get(hint.jobId);
        if (!known || known.revision < hint.revision) newest.set(hint.jobId, hint);
      }
      if (!unsent && newest.size > 0) {
        unsent = Promise.withResolvers();
        later(unsent.promise);
      }
      // Not in the same step, so that all hints of one commit are one message.
      timer ??= setTimeout(flush, 0);
    },
    flush() {
      if (timer) clearTimeout(timer);
      flush();
      if (timer) clearTimeout(timer);
    },
  };
}
