import type { EmbeddedPostgres } from "../embedded/postgres.ts";
import { identify } from "../process/process-identity.ts";
import { usualBackoff, type Backoff } from "./backoff.ts";
import { superviseChild, type Child, type ChildSpec } from "./child.ts";
import { changeRecords, type SupervisorRecord } from "./state-file.ts";
import type { StopSignals } from "./stop-signals.ts";
import { watchDatabase } from "./watch-database.ts";

export interface SupervisePlan {
  readonly role: string;
  readonly dataDir: string;
  readonly children: readonly ChildSpec[];
  /** The embedded database to keep alive, and to let go of at the very end; null = a server of somebody else. */
  readonly database: EmbeddedPostgres | null;
  readonly stop: StopSignals;
  readonly say: (line: string) => void;
  readonly backoff?: Backoff;
}

function recordOf(role: string, children: readonly Child[]): SupervisorRecord {
  const alive = children.flatMap((child) => {
    const pid = child.pid();
    return pid === null ? [] : [{ name: child.name, ...identify(pid) }];
  });
  return { role, supervisor: identify(process.pid), children: alive };
}

/** Keeps the data folder's record of this supervisor current; writes follow one another. */
function followChildren(plan: SupervisePlan, children: readonly Child[]) {
  let last: Promise<void> = Promise.resolve();
  const write = (own: () => SupervisorRecord[]) => {
    const change = (records: SupervisorRecord[]) => [
      ...records.filter((record) => record.supervisor.pid !== process.pid),
      ...own(),
    ];
    last = last
      .then(() => changeRecords(plan.dataDir, change))
      .catch((error: Error) => plan.say(error.message));
    return last;
  };
  return {
    update: () => void write(() => [recordOf(plan.role, children)]),
    remove: () => write(() => []),
  };
}

/**
 * Runs the children until a stop signal, or until all have ended for good; then stops what is left and, last of all, the
 * database. Gives the exit code: that of a child that was to run once, else 0.
 */
export async function supervise(plan: SupervisePlan): Promise<number> {
  const { stop, say, backoff = usualBackoff } = plan;
  const children: Child[] = [];
  const record = followChildren(plan, children);
  let exitCode = 0;
  for (const spec of plan.children) {
    const child = superviseChild(spec, { backoff, say, onChange: record.update });
    children.push(child);
    if (spec.lastCode === "any") void child.over.then((code) => (exitCode = code ?? 1));
  }
  record.update();
  const watching = plan.database
    ? watchDatabase(plan.database, { backoff, say, isOver: stop.isRequested })
    : undefined;
  watching?.catch((error: Error) => say(`The database is no longer watched: ${error.message}`));
  const over = Promise.all(children.map((child) => child.over));
  await Promise.race([stop.requested, over]);
  if (stop.isRequested()) say("Stopping");
  stop.request();
  stop.onSecond(() => {
    say("Killing what is left");
    for (const child of children) child.kill();
  });
  await Promise.all(children.map((child) => child.stop()));
  await plan.database?.close();
  await record.remove();
  say("Stopped");
  return exitCode;
}
