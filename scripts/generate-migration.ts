import { spawnSync } from "node:child_process";
import { globSync, rmSync } from "node:fs";
import path from "node:path";

const root = path.resolve(import.meta.dirname, "..");

/** Makes a migration of what has changed in `server/db/schema`; the arguments go to drizzle-kit. */
function generate(): number {
  const args = ["generate", "--config", "drizzle/drizzle.config.ts", ...process.argv.slice(2)];
  const { status } = spawnSync("drizzle-kit", args, { cwd: root, stdio: "inherit" });
  return status ?? 1;
}

/** drizzle-kit compares with the last snapshot alone, and each is 6,500 lines. */
function dropOldSnapshots(): void {
  const snapshots = globSync("drizzle/migrations/meta/*_snapshot.json", { cwd: root }).toSorted();
  for (const file of snapshots.slice(0, -1)) rmSync(path.join(root, file));
}

process.exitCode = generate();
if (process.exitCode === 0) dropOldSnapshots();
