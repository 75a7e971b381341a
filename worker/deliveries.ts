import {
  type Channel,
  deliver,
  type DueDelivery,
  emailChannel,
  findDue,
  findOwedOf,
  type Via,
  webhookChannel,
} from "@atelier/server/deliveries";
import { type Env, offersEmail, orLate } from "@atelier/server/platform";
import { telegramChannel } from "@atelier/server/telegram";
import type { Services } from "@atelier/server/services";
import { type Loop, startLoop } from "./base/loop.ts";
import { createSlots } from "./base/slots.ts";

/** How many sends of one process may be under way: of one target, of one owner, in all. One slow receiver fills few of them. */
const limits = { perTarget: 2, perOwner: 6, inAll: 30 };
const pollMs = 1_000;
/** How long the sends under way may take when the process stops; those that end later are sent again. */
const stopMs = 10_000;

/** The channels that this process can use. */
function channelsOf(env: Env): readonly Channel[] {
  return [
    webhookChannel,
    ...(offersEmail(env) ? [emailChannel] : []),
    ...(env.TELEGRAM_BOT_TOKEN === undefined ? [] : [telegramChannel]),
  ];
}

/**
 * Sends what is due: at once when a job ends in this process, else within a second. Several workers may do so on one
 * database, since each delivery has a lock.
 */
export function startDeliveries(
  services: Services,
  channels: readonly Channel[] = channelsOf(services.env),
): Pick<Loop, "stop"> {
  if (services.env.AUTH_SECRET === undefined)
    services.log.warn("AUTH_SECRET is not set here: webhooks that are signed are left to other workers");
  const sends = createSends(services, { channels, onFree: () => loop.wake() });
  const loop = startLoop(services.log, "deliveries", async () => {
    const { free, busy } = sends.room();
    if (free === 0) return pollMs;
    for (const due of await findDue(services, { ...limits, limit: free, busy })) sends.begin(due, "poll");
    return pollMs;
  });
  const owed = new Set<Promise<void>>();
  const sendOf = async (jobId: string) => {
    const found = await findOwedOf(services, jobId);
    for (const due of found) sends.begin(due, "callback");
  };
  const close = services.hints.onEnded((jobIds) => {
    for (const jobId of jobIds) {
      const finding = sendOf(jobId).catch((error: unknown) => {
        services.log.warn({ err: error, jobId }, "deliveries of a job not read, the poll finds them");
      });
      owed.add(finding);
      void finding.finally(() => owed.delete(finding));
    }
  });
  return {
    async stop() {
      close();
      await Promise.all(owed);
      await loop.stop();
      await sends.stop();
    },
  };
}

interface Sends {
  /** Starts a send unless its target, its owner or the process has enough under way. */
  begin(due: DueDelivery, via: Via): void;
  room(): { readonly free: number; readonly busy: ReadonlyMap<string, number> };
  stop(): Promise<void>;
}

interface SendsInput {
  readonly channels: readonly Channel[];
  /** Called after the end of each send. */
  readonly onFree: () => void;
}

function createSends(services: Services, { channels, onFree }: SendsInput): Sends {
  const stopped = new AbortController();
  const sending = createSlots<null>({ max: limits.inAll, onFree });
  const busy = new Map<string, number>();
  const countOf = (key: string | null) => (key === null ? 0 : (busy.get(key) ?? 0));
  const add = (key: string | null, change: number) => {
    if (key === null) return;
    const count = countOf(key) + change;
    if (count === 0) busy.delete(key);
    else busy.set(key, count);
  };
  const send = async ({ id }: DueDelivery, via: Via) => {
    try {
      await deliver(services, { id, via, channels, signal: stopped.signal });
    } catch (error) {
      services.log.error({ err: error, deliveryId: id }, "the outcome of a delivery could not be recorded");
    }
  };
  return {
    begin(due, via) {
      const { id, targetKey, ownerKey } = due;
      if (countOf(targetKey) >= limits.perTarget || countOf(ownerKey) >= limits.perOwner) return;
      const hasBegun = sending.begin(id, null, () =>
        send(due, via).finally(() => {
          add(targetKey, -1);
          add(ownerKey, -1);
        }),
      );
      if (!hasBegun) return;
      add(targetKey, 1);
      add(ownerKey, 1);
    },
    room: () => ({ free: sending.free(), busy }),
    async stop() {
      const all = sending.close();
      await orLate(all, stopMs, () => undefined);
      stopped.abort(new Error("the process stops"));
      await all;
    },
  };
}
