import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { chownSync, mkdirSync, openSync, readFileSync } from "node:fs";
import { createConnection } from "node:net";
import path from "node:path";
import { findFreePort, waitUntil } from "../../scripts/process/tools.ts";
import { killAtExit } from "../processes/index.ts";

/** Owns nothing and is in no group; a test run without root's rights keeps its own user. */
const nobody = 65_534;
const asNobody = process.getuid?.() === 0 ? { uid: nobody, gid: nobody } : {};

/** A process of the web as a function: it runs while it has a request, and is stopped by SIGSTOP otherwise. */
export interface Instance {
  readonly port: number;
  /** Counts a request and wakes the process; the returned function counts its end. */
  begin(): () => void;
  /** How often it was frozen. */
  frozen(): number;
  end(): void;
}

interface InstanceOptions {
  readonly name: string;
  /** The standalone output with its files; readable and not writable for the user of the process. */
  readonly tree: string;
  /** Folder for the temporary files of the process. */
  readonly temp: string;
  readonly env: Readonly<Record<string, string>>;
}

/** A tree that its process can write to would prove nothing. Throws when it can. */
export function assertReadOnly(tree: string): void {
  const code = "require('node:fs').writeFileSync('written', '')";
  const tried = spawnSync(path.join(tree, "node"), ["--eval", code], { cwd: tree, ...asNobody });
  if (tried.status === 0) throw new Error(`${tree} can be written by the function`);
}

function answers(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection(port, "127.0.0.1", () => resolve(true)).once("error", () =>
      resolve(false),
    );
    socket.once("connect", () => socket.destroy());
  });
}

function launch({ name, tree, temp, env }: InstanceOptions, port: number, counter: number): ChildProcess {
  const preload = path.join(tree, "preload.ts");
  const child = spawn(path.join(tree, "node"), ["--import", preload, "server.js"], {
    cwd: tree,
    ...asNobody,
    // Nothing of this process's environment: a function has its settings alone.
    env: { ...env, PORT: String(port), HOSTNAME: "127.0.0.1", TMPDIR: temp, NODE_ENV: "production" },
    stdio: ["ignore", "pipe", "pipe", counter],
  });
  killAtExit(child);
  for (const stream of [child.stdout, child.stderr])
    stream?.setEncoding("utf8").on("data", (text: string) => process.stdout.write(`[${name}] ${text}`));
  return child;
}

/** The live stream refuses who has no session, once it is loaded: a platform does not count the start of a process as a request's time. */
async function loadStream(port: number): Promise<void> {
  const signal = AbortSignal.timeout(60_000);
  const answer = await fetch(`http://127.0.0.1:${port}/api/trpc/jobs.watch`, { signal });
  const text = await answer.text();
  if (answer.status !== 401)
    throw new Error(`A function answered ${answer.status} to its first request: ${text}`);
}

/** How often the platform looks for the end of work that goes on after an answer. */
const lookMs = 5;

export async function startInstance(options: InstanceOptions): Promise<Instance> {
  mkdirSync(options.temp, { recursive: true });
  if (asNobody.uid !== undefined) chownSync(options.temp, nobody, nobody);
  const port = await findFreePort();
  const counterPath = path.join(options.temp, "pending");
  const child = launch(options, port, openSync(counterPath, "w"));
  if (!(await waitUntil(() => answers(port), 60_000))) throw new Error(`${options.name} did not start`);
  await loadStream(port);
  let open = 0;
  let isFrozen = false;
  let frozen = 0;
  let timer: NodeJS.Timeout | undefined;
  const settle = () => {
    clearTimeout(timer);
    if (open > 0 || isFrozen) return;
    if (Number(readFileSync(counterPath, "utf8")) > 0) {
      timer = setTimeout(settle, lookMs);
      return;
    }
    isFrozen = true;
    frozen += 1;
    child.kill("SIGSTOP");
  };
  settle();
  return {
    port,
    begin() {
      open += 1;
      if (isFrozen) child.kill("SIGCONT");
      isFrozen = false;
      let isOver = false;
      return () => {
        if (isOver) return;
        isOver = true;
        open -= 1;
        settle();
      };
    },
    frozen: () => frozen,
    end: () => {
      clearTimeout(timer);
      child.kill("SIGKILL");
    },
  };
}
