import { sweep } from "@atelier/server/jobs";
import type { Services } from "@atelier/server/services";

/** The safety net of a bench without workers: a lost bell would else leave a slot empty until the end. */
export function startSweeper(services: Services): { stop(): Promise<void> } {
  let running: Promise<unknown> = Promise.resolve();
  const timer = setInterval(() => {
    running = running.then(() => sweep(services)).catch(() => {});
  }, services.config.timing.sweepMs);
  return {
    async stop() {
      clearInterval(timer);
      await running;
    },
  };
}
