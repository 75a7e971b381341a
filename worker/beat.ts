import { Worker } from "node:worker_threads";
import type { Services } from "@atelier/server/services";
import type { BeatInput, BeatMessage } from "./beat-thread.ts";

export interface Beat {
  stop(): Promise<void>;
}

/**
 * Starts the beat of a node in a thread of its own, so that a busy main thread does not make it look dead; a main thread
 * that does not tick for long does. `onLost` is called once when the node's row is found not alive.
 */
export function startBeat(services: Services, nodeId: string, onLost: () => void): Beat {
  const { timing } = services.config;
  const input: BeatInput = {
    databaseUrl: services.env.DATABASE_URL ?? "",
    nodeId,
    beatMs: timing.beatMs,
    mainThreadStallMs: timing.mainThreadStallMs,
  };
  const thread = new Worker(new URL("./beat-thread.ts", import.meta.url), {
    workerData: input,
    execArgv: [],
    resourceLimits: { maxOldGenerationSizeMb: 32, maxYoungGenerationSizeMb: 2 },
  });
  const tick = setInterval(() => thread.postMessage("tick"), timing.beatMs);
  const ended = new Promise<void>((resolve) => {
    thread.once("exit", () => {
      clearInterval(tick);
      resolve();
    });
  });
  thread.on("message", (message: BeatMessage) => message.type === "lost" && onLost());
  thread.on("error", (error) => {
    services.log.error({ err: error, nodeId }, "the beat thread died");
    onLost();
  });
  return {
    async stop() {
      clearInterval(tick);
      thread.postMessage("stop");
      await ended;
    },
  };
}
