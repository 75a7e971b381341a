import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import os from "node:os";
import path from "node:path";

/** statfs(2): the type of a file system in memory. */
const tmpfs = 0x01021994;
const neededBytes = 4 * 1024 ** 3;

/**
 * Where tests keep what they throw away: in memory where there is plenty of it, since a database of a test is a thousand small
 * files, whose copy takes a disk's file system 0.3 s of processor time, and memory 0.03 s. `TMPDIR` decides where it is set.
 */
export function chooseTempDir(memory = "/dev/shm"): string {
  if (process.env["TMPDIR"]) return os.tmpdir();
  try {
    const { type, bavail, bsize } = statfsSync(memory);
    const isRoomy = bavail * bsize >= neededBytes && os.freemem() >= 2 * neededBytes;
    return type === tmpfs && isRoomy && mayRunIn(memory) ? memory : os.tmpdir();
  } catch {
    return os.tmpdir(); // Another system, or nothing may be written there.
  }
}

/** Containers often mount it so that nothing in it can be run, which some tests do. */
function mayRunIn(folder: string): boolean {
  const own = mkdtempSync(path.join(folder, "atelier-tries-"));
  try {
    const program = path.join(own, "program");
    writeFileSync(program, "#!/bin/sh\nexit 0\n", { mode: 0o755 });
    return spawnSync(program).status === 0;
  } finally {
    rmSync(own, { recursive: true, force: true });
  }
}
