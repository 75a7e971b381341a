import { flushCompileCache } from "node:module";
import { setPriority } from "node:os";
import type { ModelAnswer, ModelOrder } from "./child.ts";

/** A long round for pictures or an archive leaves the computer to others; a question is short. */
const niceness = 5;

/** The life of a child process that runs the model of the file that it was given: answers orders until its parent is gone. */
export function answerOrders<Task, Result>(
  load: (file: string) => Promise<(task: Task) => Promise<Result>>,
): void {
  const loaded = load(process.argv[2] ?? "");
  // Its end is a kill, before which Node.js writes no compiled code. An error is reported with the first order; without this
  // the process would end before it.
  loaded.then(
    () => flushCompileCache(),
    () => undefined,
  );
  const answer = async ({ number, task }: ModelOrder<Task>): Promise<void> => {
    const reply = await loaded
      .then(async (run): Promise<ModelAnswer<Result>> => ({ number, result: await run(task) }))
      .catch((error: unknown): ModelAnswer<Result> => ({ number, problem: String(error) }));
    process.send?.(reply);
  };
  setPriority(niceness);
  process.once("disconnect", () => process.kill(process.pid, "SIGKILL"));
  process.on("message", (order: ModelOrder<Task>) => void answer(order));
}
