import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import path from "node:path";

/** Inside the folder of a build: of what it was built. */
const mark = "atelier-sources";

/**
 * SHA-256, in hex, of all that a build is made of: the files of the project, whether committed or not, and the environment
 * that it was given. Null outside of a git checkout.
 */
export function hashSources(root: string, env: Readonly<Record<string, string>>): string | null {
  const { status, stdout } = spawnSync("git", ["ls-files", "-z", "-co", "--exclude-standard"], {
    cwd: root,
    encoding: "utf8",
    maxBuffer: 64 * 1024 * 1024,
  });
  if (status !== 0) return null;
  const hash = createHash("sha256").update(JSON.stringify([process.version, env]));
  for (const file of stdout.split("\0").filter(Boolean).toSorted()) {
    const whole = path.join(root, file);
    hash.update(`\0${file}\0`);
    if (existsSync(whole)) hash.update(readFileSync(whole));
  }
  return hash.digest("hex");
}

/** Whether the folder holds a whole build of these sources; one that failed has no mark. */
export function isBuiltOf(buildDir: string, sources: string | null): boolean {
  const file = path.join(buildDir, mark);
  return sources !== null && existsSync(file) && readFileSync(file, "utf8") === sources;
}

/** To be called when the build has succeeded. */
export function markBuilt(buildDir: string, sources: string | null): void {
  if (sources !== null) writeFileSync(path.join(buildDir, mark), sources);
}
