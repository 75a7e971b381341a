import type { ChildProcess } from "node:child_process";

const running = new Set<ChildProcess>();

function killAll(): void {
  for (const child of running) child.kill("SIGKILL");
}

/** Kills the child when this process ends before it. */
export function killAtExit(child: ChildProcess): void {
  // One listener for all: a test file may start dozens.
  if (!process.listeners("exit").includes(killAll)) process.once("exit", killAll);
  running.add(child);
  child.once("exit", () => running.delete(child));
}
