import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { rm } from "node:fs/promises";

interface Started {
  readonly child: ChildProcess;
  readonly ended: Promise<unknown>;
}

/** Starts one process of a studio and waits until it says that it is ready. */
async function startPart(script: string, env: NodeJS.ProcessEnv, ready: RegExp): Promise<Started> {
  const child = spawn(process.execPath, [script], { env, stdio: ["ignore", "pipe", "pipe"] });
  const ended = once(child, "exit");
  let said = "";
  const isReady = new Promise<void>((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr])
      stream.on("data", (part: Buffer) => {
        said += part.toString();
        if (ready.test(said)) resolve();
      });
    void ended.then(() => reject(new Error(`${script} did not start: ${said}`)));
  });
  await isReady;
  return { child, ended };
}

/** Starts a whole studio with an empty data folder of its own; returns how to end it. */
export async function startStudio(env: Readonly<Record<string, string>>): Promise<() => Promise<void>> {
  const all = { ...process.env, ...env };
  const web = await startPart("scripts/start.ts", all, /Ready in/);
  const worker = await startPart("scripts/worker.ts", all, /The worker is running/);
  return async () => {
    for (const { child, ended } of [worker, web]) {
      child.kill("SIGTERM");
      await ended;
    }
    await rm(env["ATELIER_DATA_DIR"] ?? "", { recursive: true, force: true });
  };
}
