import { cloudEngine, type Need } from "@atelier/server/engines";
import { findModel, modelsOf, type ProviderKey, readWaitMs } from "@atelier/server/providers";
import type { Services } from "@atelier/server/services";

/**
 * Knows which models have no provider with room. As with a server that is busy, no job of them is claimed meanwhile: it
 * stays in the window, instead of being claimed only to go back to the end of the line, with four events each time.
 */
export interface ProviderRoom {
  /** A job of the model found no provider that can take it for this time. */
  readonly noteBusy: (model: string, waitMs: number) => void;
  /** Whether a job with this need may be claimed. */
  readonly hasRoom: (need: Need) => boolean;
  close(): void;
}

export interface ProviderRoomInput {
  readonly keys: readonly ProviderKey[];
  /** Called when a model has room again. */
  readonly onRoom: () => void;
}

const marginMs = 50;
/** After a read that failed. */
const retryMs = 2_000;

export function createProviderRoom(
  { db, config, log }: Services,
  { keys, onRoom }: ProviderRoomInput,
): ProviderRoom {
  /** Models without room, with the timer of the next look. */
  const full = new Map<string, NodeJS.Timeout>();
  let isClosed = false;

  function lookAgain(model: string, afterMs: number): void {
    if (isClosed) return;
    clearTimeout(full.get(model));
    const timer = setTimeout(() => void look(model), afterMs + marginMs);
    full.set(model, timer.unref());
  }
  async function look(id: string): Promise<void> {
    const model = findModel(modelsOf(config), id);
    try {
      const waitMs = model ? await readWaitMs(db, config, { model, keys }) : 0;
      if (waitMs > 0) return lookAgain(id, waitMs);
    } catch (error) {
      log.debug({ err: error, model: id }, "the load of the providers was not read");
      return lookAgain(id, retryMs);
    }
    full.delete(id);
    if (!isClosed) onRoom();
  }
  return {
    noteBusy(model, waitMs) {
      // Other providers of the chain may have room: those that have failed only this job.
      if (!full.has(model)) {
        lookAgain(model, waitMs);
        void look(model);
      }
    },
    hasRoom: (need) => {
      const [engine, model = ""] = need.split("/");
      return engine !== cloudEngine.name || !full.has(model);
    },
    close() {
      isClosed = true;
      for (const timer of full.values()) clearTimeout(timer);
    },
  };
}
