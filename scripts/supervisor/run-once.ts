import { spawn } from "node:child_process";
import type { ChildSpec } from "./child.ts";
import { prefixOutput } from "./prefix-output.ts";
import type { StopSignals } from "./stop-signals.ts";

/** Runs a child to its own end, without starting it again; a stop signal reaches it as SIGTERM. Resolves with the exit code. */
export async function runOnce(
  spec: ChildSpec,
  { stop, say }: { stop: StopSignals; say: (line: string) => void },
): Promise<number> {
  const { promise: ended, resolve, reject } = Promise.withResolvers<number>();
  // A process group of its own: Ctrl-C in the terminal reaches this process alone.
  const child = spawn(spec.file, spec.args, {
    cwd: spec.cwd,
    env: spec.env,
    detached: true,
    stdio: ["ignore", "pipe", "pipe"],
  });
  prefixOutput(child.stdout, spec.name, say);
  prefixOutput(child.stderr, spec.name, say);
  child.once("error", reject);
  child.once("close", (code) => resolve(code ?? 1));
  let late: NodeJS.Timeout | undefined;
  void stop.requested.then(() => {
    child.kill("SIGTERM");
    late = setTimeout(() => child.kill("SIGKILL"), spec.graceMs);
  });
  stop.onSecond(() => child.kill("SIGKILL"));
  return ended.finally(() => clearTimeout(late));
}
