import { spawn } from "node:child_process";
import { once } from "node:events";

interface Options {
  readonly mode?: "0.8.0" | "new";
  /** Of each step of a sampler, of which a picture takes twenty and more. */
  readonly stepMs?: number;
}

/** Starts the SIMULATOR of ComfyUI where the worker of the journeys looks for a server; returns how to end it. */
export function startSimulator(
  port: number,
  { mode = "0.8.0", stepMs = 50 }: Options = {},
): Promise<() => Promise<void>> {
  const given = { "--port": String(port), "--step-ms": String(stepMs), "--mode": mode };
  return start("testing/comfyui/main.ts", ...Object.entries(given).flat());
}

interface Order {
  /** Lets the next run, or with "forever" all, wait in its sampler until `release`. */
  readonly kind: "hold";
  readonly times?: "forever";
}

/** Drives the SIMULATOR of ComfyUI: `fault` is for the runs to come, `release` lets those go on that wait, `clear` takes all back. */
export async function driveSimulator(
  port: number,
  what: "fault" | "release" | "clear",
  order?: Order,
): Promise<void> {
  const answer = await fetch(`http://127.0.0.1:${port}/sim/${what === "release" ? what : "fault"}`, {
    method: what === "clear" ? "DELETE" : "POST",
    ...(order ? { body: JSON.stringify(order) } : {}),
  });
  if (!answer.ok) throw new Error(`The simulator did not take "${what}": ${answer.status}`);
}

/** Starts the SIMULATOR of a language model; returns how to end it. */
export function startSimulatedModel(port: number): Promise<() => Promise<void>> {
  return start("testing/llm/main.ts", "--port", String(port));
}

/** Starts SIMULATORS of all providers; each has the port after the one before. */
export function startSimulatedProviders(port: number): Promise<() => Promise<void>> {
  return start("testing/providers/main.ts", "--port", String(port));
}

async function start(...args: readonly string[]): Promise<() => Promise<void>> {
  const child = spawn(process.execPath, args, { stdio: ["ignore", "pipe", "inherit"] });
  const ended = once(child, "exit");
  let said = "";
  const isReady = new Promise<void>((resolve) => {
    // Read to the end: a simulator that tells what it gets must not fill or lose its pipe.
    child.stdout.setEncoding("utf8").on("data", (part: string) => {
      said += part;
      if (/listens on|Ctrl-C ends/.test(said)) resolve();
    });
  });
  await Promise.race([isReady, ended]);
  if (child.exitCode !== null) throw new Error(`The simulator did not start: ${said}`);
  return async () => {
    child.kill("SIGTERM");
    await ended;
  };
}
