import { readFileSync, readlinkSync } from "node:fs";
import os from "node:os";

/** Tells this process from any other that ever ran: boot of the host, pid, and when that pid was started. */
export interface ProcessIdentity {
  readonly hostname: string;
  readonly bootId: string;
  readonly pid: number;
  readonly pidStartedAt: string;
}

/** Clock ticks since boot at which a pid was started; null when there is no such process or no /proc. */
export function pidStartTime(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    // The command in parentheses may hold spaces; field 22 is counted after it.
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? null;
  } catch {
    return null;
  }
}

/** Boot and pid namespace: containers of one host share the boot id, but pid 1 of one is not pid 1 of another. */
function readBootId(): string {
  try {
    const bootId = readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
    return `${bootId} ${readlinkSync("/proc/self/ns/pid")}`;
  } catch {
    // Without /proc no predecessor is ever recognised, so the watch decides about it.
    return `${os.hostname()}-${process.pid}-${Date.now()}`;
  }
}

export function ownIdentity(): ProcessIdentity {
  return {
    hostname: os.hostname(),
    bootId: readBootId(),
    pid: process.pid,
    pidStartedAt: pidStartTime(process.pid) ?? String(Date.now()),
  };
}
