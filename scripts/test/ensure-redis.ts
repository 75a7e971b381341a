import { spawnSync } from "node:child_process";

function hasProgram(name: string): boolean {
  return spawnSync(name, ["--version"]).error === undefined;
}

function installRedis(): void {
  console.log("redis-server is missing; installing it");
  // With this run level the package's own script does not start a server.
  const env = { ...process.env, DEBIAN_FRONTEND: "noninteractive", RUNLEVEL: "1" };
  spawnSync("apt-get", ["update", "-q"], { env, stdio: "inherit" });
  const args = ["install", "-y", "-q", "--no-install-recommends", "redis-server"];
  spawnSync("apt-get", args, { env, stdio: "inherit" });
}

/** Makes sure that the tests can start redis-server; false, with the reason in the terminal, when they cannot. */
export function ensureRedis(): boolean {
  if (hasProgram("redis-server")) return true;
  if (process.getuid?.() === 0 && hasProgram("apt-get")) installRedis();
  if (hasProgram("redis-server")) return true;
  console.error(
    "The tests need the program redis-server. Install it (Debian: apt-get install redis-server).",
  );
  return false;
}
