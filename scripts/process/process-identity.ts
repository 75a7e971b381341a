import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";

/** One process incarnation: a pid alone may have been given to another process since. */
export interface ProcessIdentity {
  readonly pid: number;
  /** Start time as the system prints it; null where it cannot be read. Only ever compared for equality. */
  readonly startedAt: string | null;
}

interface ProcStat {
  readonly state: string;
  readonly startTicks: string;
}

function readProcStat(pid: number): ProcStat | null {
  try {
    const line = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The command's name stands in brackets and may itself hold brackets and spaces.
    const fields = line.slice(line.lastIndexOf(")") + 2).split(" ");
    return { state: fields[0] ?? "", startTicks: fields[19] ?? "" };
  } catch {
    return null;
  }
}

function readStartTime(pid: number): string | null {
  if (process.platform === "linux") return readProcStat(pid)?.startTicks ?? null;
  if (process.platform === "win32") return null;
  const answer = spawnSync("ps", ["-o", "lstart=", "-p", String(pid)], { encoding: "utf8" });
  return answer.status === 0 ? answer.stdout.trim() : null;
}

export function identify(pid: number): ProcessIdentity {
  return { pid, startedAt: readStartTime(pid) };
}

/** Whether a process runs under this pid. A zombie does not run: in a container nobody may ever reap it. */
export function isPidAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "EPERM")) return false;
  }
  return process.platform !== "linux" || readProcStat(pid)?.state !== "Z";
}

/** Whether exactly this incarnation still runs. Where start times cannot be read the pid decides. */
export function isAlive(identity: ProcessIdentity): boolean {
  return isPidAlive(identity.pid) && readStartTime(identity.pid) === identity.startedAt;
}

/** Whether this incarnation runs beyond doubt, so that it may be killed. */
export function isCertainlyAlive(identity: ProcessIdentity): boolean {
  return identity.startedAt !== null && isAlive(identity);
}
