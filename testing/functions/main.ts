import { chmodSync, copyFileSync, cpSync, existsSync, mkdtempSync, rmSync } from "node:fs";
import os from "node:os";
import path from "node:path";
import { spawnSync } from "node:child_process";
import { openGateway } from "./gateway.ts";
import { assertReadOnly, startInstance } from "./instance.ts";

// A stand-in of a platform of functions: the pages as `next build` with the standalone output left them, run by another
// user in a tree that it cannot write to, behind a front that limits bodies and time and freezes idle processes.

const rootDir = path.resolve(import.meta.dirname, "..", "..");
const built = path.join(rootDir, ".next");

/** The standalone output with what a platform serves beside it, and with the program itself. */
function copyTree(folder: string): string {
  const output = path.join(built, "standalone");
  if (!existsSync(path.join(output, "server.js")))
    throw new Error("There is no standalone output: build with NEXT_OUTPUT=standalone first.");
  const tree = path.join(folder, "tree");
  cpSync(output, tree, { recursive: true, verbatimSymlinks: true });
  cpSync(path.join(built, "static"), path.join(tree, ".next", "static"), { recursive: true });
  cpSync(path.join(rootDir, "public"), path.join(tree, "public"), { recursive: true });
  copyFileSync(process.execPath, path.join(tree, "node"));
  copyFileSync(path.join(import.meta.dirname, "preload.ts"), path.join(tree, "preload.ts"));
  spawnSync("chmod", ["-R", "a+rX,a-w", tree]);
  spawnSync("chmod", ["a+x", path.join(tree, "node")]);
  return tree;
}

async function main(): Promise<void> {
  const settings: Record<string, string> = JSON.parse(process.env["ATELIER_E2E_FUNCTIONS"] ?? "{}");
  const limitMs = Number(settings["FUNCTION_SECONDS"]) * 1_000;
  const folder = mkdtempSync(path.join(os.tmpdir(), "atelier-functions-"));
  chmodSync(folder, 0o755);
  const running: { end(): void }[] = [];
  const stop = () => {
    for (const each of running) each.end();
    spawnSync("chmod", ["-R", "u+w", folder]);
    rmSync(folder, { recursive: true, force: true });
    process.exit(0);
  };
  process.once("SIGTERM", stop);
  process.once("SIGINT", stop);
  const tree = copyTree(folder);
  assertReadOnly(tree);
  const open = async (name: string) => {
    const instance = await startInstance({ name, tree, temp: path.join(folder, name), env: settings });
    running.push(instance);
    return instance;
  };
  const [streams, calls] = await Promise.all([open("streams"), open("calls")]);
  const gateway = openGateway({ streams, calls, limitMs });
  gateway.listen(Number(process.env["PORT"]), "127.0.0.1");
}

await main();
