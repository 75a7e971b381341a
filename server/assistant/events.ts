import { sql } from "drizzle-orm";
import type { RunStatus } from "../db/index.ts";
import { createListener, type Listener } from "../queue/index.ts";
import { logConnectionErrors } from "../platform/index.ts";
import type { Services } from "../services.ts";

/** A run has another status; the trigger of the table tells it after the commit. */
interface RunNotice {
  readonly type: "run";
  readonly id: string;
  readonly ownerId: string;
  readonly status: RunStatus;
  readonly revision: number;
}

/** The next words of an answer that is being written. */
export interface AnswerNotice {
  readonly type: "answer";
  readonly id: string;
  readonly ownerId: string;
  readonly attempt: number;
  /** Characters of the answer before these. */
  readonly at: number;
  readonly text: string;
}

/** The user asked to end the answer. */
interface StopNotice {
  readonly type: "stop";
  readonly id: string;
}

export type AssistantNotice = RunNotice | AnswerNotice | StopNotice;

const channel = "atelier_assistant";

interface Subscription {
  readonly listeners: Set<(notice: AssistantNotice) => void>;
  readonly listener: Listener;
}

const subscriptions = new WeakMap<Services, Subscription>();

/**
 * Calls `onNotice` for what happens to runs anywhere in the installation, over LISTEN of PostgreSQL. A lost connection
 * comes back by itself, and what was told meanwhile is lost: whoever subscribes also has to look from time to time.
 */
export function onAssistantNotice(
  services: Services,
  onNotice: (notice: AssistantNotice) => void,
): () => void {
  const known = subscriptions.get(services) ?? open(services);
  subscriptions.set(services, known);
  known.listeners.add(onNotice);
  return () => {
    known.listeners.delete(onNotice);
    if (known.listeners.size > 0) return;
    subscriptions.delete(services);
    services.later(known.listener.close());
  };
}

function open(services: Services): Subscription {
  const { env, log } = services;
  const onError = logConnectionErrors(log);
  const listeners = new Set<(notice: AssistantNotice) => void>();
  // Behind a pooler LISTEN needs the direct address.
  const listener = createListener(env.DATABASE_DIRECT_URL ?? env.DATABASE_URL ?? "", onError);
  listener.listen(channel, (payload) => {
    const notice = parseNotice(payload);
    if (notice) for (const tell of listeners) tell(notice);
  });
  return { listeners, listener };
}

/** Every client of the database can send to the channel: an unknown text is dropped. */
function parseNotice(payload: string): AssistantNotice | null {
  try {
    const notice: unknown = JSON.parse(payload);
    // Safe: the trigger and `tell` write nothing else.
    return typeof notice === "object" && notice !== null && "type" in notice
      ? (notice as AssistantNotice)
      : null;
  } catch {
    return null;
  }
}

/** A notification has less than 8,000 bytes; a character of JSON has at most three, or six as an escape. */
const maxNoticeChars = 1_200;

/** Tells all processes; a failure costs a second, since the stored run says the same. */
export async function tellAnswer({ db, log }: Services, notice: AnswerNotice): Promise<void> {
  try {
    for (let from = 0; from < notice.text.length; from += maxNoticeChars)
      await tell(db, {
        ...notice,
        at: notice.at + from,
        text: notice.text.slice(from, from + maxNoticeChars),
      });
  } catch (error) {
    log.debug({ err: error }, "words of an answer could not be told");
  }
}

/** Tells the worker that answers; it also sees the request when it next stores the answer. */
export async function tellStop({ db }: Services, id: string): Promise<void> {
  await tell(db, { type: "stop", id });
}

async function tell(db: Services["db"], notice: AssistantNotice): Promise<void> {
  await db.execute(sql`select pg_notify(${channel}, ${JSON.stringify(notice)})`);
}
