import { setTimeout as sleep } from "node:timers/promises";
import { isAppError } from "@atelier/server/platform";
import { cancelPrompt } from "./cancel-prompt.ts";
import type { ComfyServer } from "./comfy-server.ts";

/** A server that cannot be reached is tried for this long: it may be cut off for a moment while the prompt goes on. */
const leaveMostMs = 30_000;
const leavePauseMs = 500;

/** Takes the prompt off its server once its post is answered, as far as that can be done. Never rejects. */
export async function leavePrompt(
  server: ComfyServer,
  promptId: string,
  posted: Promise<unknown>,
): Promise<void> {
  await posted.catch(() => undefined);
  const signal = AbortSignal.timeout(leaveMostMs);
  while (!signal.aborted) {
    try {
      await cancelPrompt(server, promptId, { signal });
      return;
    } catch (error) {
      if (!isAppError(error)) return;
      await sleep(leavePauseMs, undefined, { signal, ref: false }).catch(() => undefined);
    }
  }
}
