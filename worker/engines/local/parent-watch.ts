import { workerData } from "node:worker_threads";

// Runs in a thread of the child: inference blocks the child's event loop, so only a thread notices that the parent died.
const watchMs = 500;
const { parentPid } = workerData as { parentPid: number };

function isParentAlive(): boolean {
  if (process.ppid !== parentPid) return false;
  try {
    process.kill(parentPid, 0);
    return true;
  } catch {
    return false;
  }
}

setInterval(() => {
  if (!isParentAlive()) process.kill(process.pid, "SIGKILL");
}, watchMs);
