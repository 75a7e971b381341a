import { readFileSync, rmSync } from "node:fs";
import path from "node:path";
import { isPidAlive } from "../process/process-identity.ts";

/** What a server writes about itself into its data folder. */
export interface Postmaster {
  readonly pid: number;
  readonly port: number;
  readonly status: "starting" | "ready" | "stopping" | "unknown";
}

function parseStatus(text: string | undefined): Postmaster["status"] {
  const status = text?.trim();
  return status === "starting" || status === "ready" || status === "stopping" ? status : "unknown";
}

function fileOf(clusterDir: string): string {
  return path.join(clusterDir, "postmaster.pid");
}

function isPostgres(pid: number): boolean {
  if (!isPidAlive(pid)) return false;
  if (process.platform !== "linux") return true;
  try {
    return readFileSync(`/proc/${pid}/comm`, "utf8").trim() === "postgres";
  } catch {
    return false;
  }
}

/** The live server of this data folder; null when there is none (the file of a dead one counts as none). */
export function readPostmaster(clusterDir: string): Postmaster | null {
  let lines: string[];
  try {
    lines = readFileSync(fileOf(clusterDir), "utf8").split("\n");
  } catch {
    return null;
  }
  const pid = Number(lines[0]);
  if (!Number.isInteger(pid) || pid <= 0 || !isPostgres(pid)) return null;
  return { pid, port: Number(lines[3]), status: parseStatus(lines[7]) };
}

/**
 * Removes the file of a dead server. PostgreSQL clears it itself unless its pid now belongs to some other
 * program (usual after a container restart); then it would refuse to start for ever.
 */
export function clearDeadPostmasterFile(clusterDir: string): void {
  if (readPostmaster(clusterDir) === null) rmSync(fileOf(clusterDir), { force: true });
}
