import { type ChildProcess, spawn } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:net";
import os from "node:os";
import path from "node:path";
import { show } from "./start-and-throughput.ts";

/** The pid and all its descendants, also those in process groups of their own. */
function processTree(root: number): number[] {
  const parents = new Map<number, number>();
  for (const name of readdirSync("/proc").filter((entry) => /^\d+$/.test(entry))) {
    const parent = readParent(Number(name));
    if (parent !== null) parents.set(Number(name), parent);
  }
  const tree = [root];
  for (const pid of tree)
    tree.push(...[...parents].filter(([, parent]) => parent === pid).map(([child]) => child));
  return tree;
}

function readParent(pid: number): number | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "utf8");
    return Number(stat.slice(stat.lastIndexOf(")") + 2).split(" ")[1]);
  } catch {
    return null;
  }
}

/** Proportional set size in MiB: shared pages count once over all processes. 0 for a process that is gone. */
function pssMib(pid: number): number {
  try {
    const kib = /^Pss:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, "utf8"))?.[1];
    return Number(kib ?? 0) / 1024;
  } catch {
    return 0;
  }
}

const idleMs = 30_000;
const limitMs = 60_000;
const outerServices = ["DATABASE_URL", "DATABASE_DIRECT_URL", "REDIS_URL", "APP_URL"];

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const address = server.address();
      server.close(() => resolve(typeof address === "object" && address ? address.port : 0));
    });
  });
}

function launch(script: string, env: NodeJS.ProcessEnv): ChildProcess {
  return spawn(process.execPath, [script], { env, stdio: "ignore" });
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null) return;
  const ended = new Promise((resolve) => child.once("exit", resolve));
  child.kill("SIGTERM");
  await ended;
}

/** Signs in as a guest and uploads a picture, as the first visitor does; false while the page does not answer yet. */
async function uploadFirst(origin: string): Promise<boolean> {
  try {
    const headers = { origin, "content-type": "application/json" };
    const guest = await fetch(`${origin}/api/auth/sign-in/anonymous`, {
      method: "POST",
      headers,
      body: "{}",
    });
    const cookie = guest.headers
      .getSetCookie()
      .map((line) => line.split(";")[0])
      .join("; ");
    const body = new FormData();
    body.set("file", new Blob([readFileSync("public/samples/astronaut.png")]), "astronaut.png");
    const answer = await fetch(`${origin}/api/v1/uploads`, {
      method: "POST",
      headers: { origin, cookie },
      body,
    });
    return answer.status === 201;
  } catch {
    return false;
  }
}

/** P11: cold start of the built product with embedded services to the first accepted picture, then its idle memory. */
export async function benchColdStart(): Promise<string[]> {
  if (!existsSync(".next/BUILD_ID")) throw new Error("Run the build first.");
  const dataDir = await mkdtemp(path.join(os.tmpdir(), "atelier-cold-"));
  const port = await freePort();
  const env = {
    ...process.env,
    NODE_ENV: "production" as const,
    PORT: String(port),
    // Blank is unset, and unlike unset it is not filled in from a .env file: the services are the embedded ones.
    ...Object.fromEntries(outerServices.map((name) => [name, ""])),
    ATELIER_DATA_DIR: dataDir,
  };
  const beganMs = performance.now();
  const children = [launch("scripts/start.ts", env), launch("scripts/worker.ts", env)];
  try {
    while (!(await uploadFirst(`http://127.0.0.1:${port}`))) {
      if (performance.now() - beganMs > limitMs) throw new Error("no picture was accepted within a minute");
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    const acceptedMs = performance.now() - beganMs;
    await new Promise((resolve) => setTimeout(resolve, idleMs));
    const pids = children.flatMap((child) => (child.pid ? processTree(child.pid) : []));
    const sizes = pids
      .map((pid) => ({ pid, mib: pssMib(pid), command: commandOf(pid) }))
      .filter(({ mib }) => mib > 0);
    const total = sizes.reduce((sum, { mib }) => sum + mib, 0);
    return [
      `cold start to the first picture accepted: ${show(acceptedMs / 1_000, 1)} s`,
      `all processes after ${idleMs / 1_000} s idle: ${show(total, 0)} MiB (proportional set size)`,
      ...sizes
        .toSorted((a, b) => b.mib - a.mib)
        .slice(0, 6)
        .map(({ mib, command }) => `  ${show(mib, 0)} MiB  ${command}`),
    ];
  } finally {
    await Promise.all(children.map(end));
    await rm(dataDir, { recursive: true, force: true });
  }
}

function commandOf(pid: number): string {
  try {
    const words = readFileSync(`/proc/${pid}/cmdline`, "utf8").split("\0").filter(Boolean);
    return words
      .map((word) => path.basename(word))
      .slice(0, 3)
      .join(" ");
  } catch {
    return "";
  }
}
