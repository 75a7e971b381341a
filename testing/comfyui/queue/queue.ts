import { SessionEnded } from "../nodes/call.ts";
import type { Comfy, QueueItem, Session } from "../server/session.ts";
import { note } from "../server/stats.ts";
import { broadcastStatus } from "../socket.ts";
import { type Ending, executePrompt } from "./execute.ts";
import { faultOf, type Run, tell } from "./run.ts";

const mostHistory = 10_000;

/** Puts a prompt into the line and sees that the line moves. */
export function enqueue(comfy: Comfy, item: QueueItem): void {
  const { session } = comfy;
  session.pending.push(item);
  session.pending.sort((one, other) => one.number - other.number);
  broadcastStatus(session);
  session.pump ??= pump(comfy, session);
}

async function pump(comfy: Comfy, session: Session): Promise<void> {
  // The answer to the post leaves before the first prompt begins.
  await new Promise(setImmediate);
  for (let item = session.pending.shift(); item && isAlive(session); item = session.pending.shift()) {
    session.running = item;
    broadcastStatus(session);
    note(comfy.ledger, item.promptId, "started");
    if (!(await runOne(comfy, session, item))) return;
  }
  session.pump = null;
}

function isAlive(session: Session): boolean {
  return !session.end.signal.aborted;
}

async function runOne(comfy: Comfy, session: Session, item: QueueItem): Promise<boolean> {
  try {
    const { run, ending } = await executePrompt(comfy, session, item);
    note(comfy.ledger, item.promptId, ending);
    finish(run, ending);
    return true;
  } catch (error) {
    if (error instanceof SessionEnded) return false;
    throw error;
  }
}

/** History is written behind `execution_success` and before `executing null`. */
function finish(run: Run, ending: Ending): void {
  const { session, item, messages, outputs, meta } = run;
  session.running = null;
  session.currentNode = null;
  const isSuccess = ending === "finished";
  const late = faultOf(run, "history-late");
  session.history.set(item.promptId, {
    item,
    outputs,
    meta,
    status: { status_str: isSuccess ? "success" : "error", completed: isSuccess, messages },
    visibleAt: Date.now() + (late?.ms ?? 0),
  });
  const [oldest] = session.history.keys();
  if (session.history.size > mostHistory && oldest !== undefined) session.history.delete(oldest);
  broadcastStatus(session);
  tell(run, "executing", { node: null });
}
