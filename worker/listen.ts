import type { BellConsumer } from "@atelier/server/queue";
import type { Services } from "@atelier/server/services";

/** The queues whose bells this node takes. */
export interface Listening {
  /** Slots by queue; the bells of every other queue are left to the other nodes. */
  follow(wanted: ReadonlyMap<string, number>): void;
  /** Resolves when no bell is answered any more. */
  close(): Promise<void>;
}

interface Ear {
  readonly queue: string;
  readonly consumer: BellConsumer;
  /** Bells under way. */
  answering: number;
}

/** Listens to nothing before `follow`. */
export function createListening(
  { bells, log }: Pick<Services, "bells" | "log">,
  answer: (queue: string) => Promise<void>,
): Listening {
  const open = new Map<string, Ear>();
  const closing = new Map<Ear, Promise<void>>();
  let wanted: ReadonlyMap<string, number> = new Map();
  let isClosed = false;

  function listen(queue: string, slots: number): Ear {
    const ear: Ear = {
      queue,
      answering: 0,
      consumer: bells.consume(queue, slots, async () => {
        ear.answering += 1;
        await answer(queue).finally(() => {
          ear.answering -= 1;
          if (closing.has(ear)) fit();
        });
      }),
    };
    log.info({ queue, slots }, "queue joined");
    return ear;
  }
  function shut(ear: Ear): void {
    const { queue } = ear;
    open.delete(queue);
    log.info({ queue }, "leaving queue");
    closing.set(ear, leave(ear));
  }
  async function leave(ear: Ear): Promise<void> {
    const { queue } = ear;
    await ear.consumer
      .close()
      .catch((error: unknown) => log.warn({ err: error, queue }, "queue not left in order"));
    closing.delete(ear);
    log.info({ queue }, "queue left");
    fit();
  }
  /** Runs that an earlier consumer of the queue still answers take up slots of the new one. */
  function fit(): void {
    for (const ear of open.values()) if (!wanted.has(ear.queue)) shut(ear);
    for (const [queue, slots] of wanted) {
      const before = [...closing.keys()].filter((ear) => ear.queue === queue);
      const free = slots - before.reduce((sum, { answering }) => sum + answering, 0);
      const ear = open.get(queue);
      if (ear) ear.consumer.setSlots(Math.max(1, free));
      else if (free > 0) open.set(queue, listen(queue, free));
    }
  }
  return {
    follow(next) {
      if (isClosed) return;
      wanted = next;
      fit();
    },
    async close() {
      isClosed = true;
      wanted = new Map();
      fit();
      await Promise.all(closing.values());
    },
  };
}
