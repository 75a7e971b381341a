import { SessionEnded } from "../nodes/node-error.ts";
import type { Comfy } from "../server/comfy.ts";
import type { Run } from "./run.ts";

/** Waits until somebody releases the held nodes; throws SessionEnded when the server restarts. */
export async function hold({ comfy, session }: Run): Promise<void> {
  const { signal } = session.end;
  await new Promise<void>((resolve) => {
    comfy.held.add(resolve);
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
  if (signal.aborted) throw new SessionEnded();
}

/** Lets all held nodes go on. */
export function release({ held }: Comfy): void {
  for (const resolve of held) resolve();
  held.clear();
}
