import { isPidAlive } from "../process/process-identity.ts";
import { waitUntil } from "../process/wait-until.ts";
import { readPostmaster } from "./postmaster-file.ts";

const fastMs = 15_000;
const immediateMs = 5_000;

function signal(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(pid, name);
  } catch {
    // It has just ended.
  }
}

/** Stops the live server of the data folder: closes all sessions and writes a checkpoint; after 15 s without that. */
export async function stopServer(clusterDir: string): Promise<void> {
  const server = readPostmaster(clusterDir);
  if (!server) return;
  const isGone = () => !isPidAlive(server.pid);
  signal(server.pid, "SIGINT");
  if (await waitUntil(isGone, fastMs)) return;
  signal(server.pid, "SIGQUIT");
  await waitUntil(isGone, immediateMs);
}
