import { readFileSync, renameSync, writeFileSync } from "node:fs";
import path from "node:path";
import { withFileLock } from "../process/lock.ts";
import { isAlive, type ProcessIdentity } from "../process/process-identity.ts";

/** A supervisor and its children, as the data folder remembers them. */
export interface SupervisorRecord {
  readonly role: string;
  readonly supervisor: ProcessIdentity;
  readonly children: readonly ({ readonly name: string } & ProcessIdentity)[];
}

function stateFileOf(dataDir: string): string {
  return path.join(dataDir, "supervisor.json");
}

/** All supervisors of the data folder, dead ones included. */
export function readRecords(dataDir: string): SupervisorRecord[] {
  try {
    return JSON.parse(readFileSync(stateFileOf(dataDir), "utf8")).supervisors;
  } catch {
    return []; // There is none yet, or a disk that filled up cut it off.
  }
}

/** Reads, changes and writes the file whole, under its lock: `start` and `worker` share it. */
export function changeRecords(
  dataDir: string,
  change: (records: SupervisorRecord[]) => SupervisorRecord[] | Promise<SupervisorRecord[]>,
): Promise<void> {
  return withFileLock(path.join(dataDir, "run", "supervisor.lock"), async () => {
    const supervisors = await change(readRecords(dataDir));
    const draft = `${stateFileOf(dataDir)}.${process.pid}`;
    writeFileSync(draft, `${JSON.stringify({ supervisors }, null, 2)}\n`, { mode: 0o600 });
    renameSync(draft, stateFileOf(dataDir));
  });
}

/** A live supervisor of this data folder with one of these roles, if there is one. */
export function findLiveSupervisor(dataDir: string, roles: readonly string[]): SupervisorRecord | null {
  const records = readRecords(dataDir).filter((record) => roles.includes(record.role));
  return records.find((record) => isAlive(record.supervisor)) ?? null;
}
