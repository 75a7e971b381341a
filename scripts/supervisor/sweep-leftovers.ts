import { isAlive, isCertainlyAlive, type ProcessIdentity } from "../process/process-identity.ts";
import { waitUntil } from "../process/wait-until.ts";
import { changeRecords, type SupervisorRecord } from "./state-file.ts";

const graceMs = 5_000;

function signalGroup(pid: number, name: NodeJS.Signals): void {
  try {
    process.kill(-pid, name);
  } catch {
    // It has just ended.
  }
}

async function end(child: ProcessIdentity): Promise<void> {
  signalGroup(child.pid, "SIGTERM");
  if (await waitUntil(() => !isAlive(child), graceMs)) return;
  signalGroup(child.pid, "SIGKILL");
  await waitUntil(() => !isAlive(child), graceMs);
}

/**
 * Ends the children of supervisors that were killed, so that nothing of them holds a port or takes jobs. A process is
 * touched only when both its pid and its start time are the recorded ones. Returns the names of what was ended.
 */
export async function sweepLeftovers(dataDir: string): Promise<string[]> {
  const swept: string[] = [];
  await changeRecords(dataDir, async (records) => {
    const isDead = (record: SupervisorRecord) => !isAlive(record.supervisor);
    const left = records.filter(isDead).flatMap((record) => record.children.filter(isCertainlyAlive));
    await Promise.all(left.map(end));
    swept.push(...left.map(({ name, pid }) => `${name} (pid ${pid})`));
    return records.filter((record) => !isDead(record));
  });
  return swept;
}
