import type { Comfy } from "./comfy.ts";
import { openSession } from "./session.ts";
import { note } from "./stats.ts";

/** Loses queue, history and cache, as a restart does; files stay but those in temp. */
export async function endSession(comfy: Comfy): Promise<void> {
  const { session, ledger } = comfy;
  for (const item of [session.running, ...session.pending]) if (item) note(ledger, item.promptId, "lost");
  session.end.abort();
  for (const { socket } of session.clients.values()) socket.terminate();
  comfy.files.clear("temp");
  ledger.counts.restarts += 1;
  comfy.session = openSession();
  // What is half done may still write a file: afterwards nothing does.
  await session.pump;
}
