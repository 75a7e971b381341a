import { setPriority } from "node:os";
import { loadTextModel } from "./vectors-of.ts";
import type { Answer, Order } from "./text-model.ts";

// The entry of a child process that makes vectors of texts with the model of the file that it is given.

const load = loadTextModel(process.argv[2] ?? "");
// Reported with the first order; without this the process would end before it.
load.catch(() => undefined);

/** A long round for pictures or an archive leaves the computer to others; a question is short. */
const niceness = 5;

async function answer({ number, texts }: Order): Promise<void> {
  const reply = await load
    .then(async (vectorsOf): Promise<Answer> => ({ number, vectors: await vectorsOf(texts) }))
    .catch((error: unknown): Answer => ({ number, problem: String(error) }));
  process.send?.(reply);
}

setPriority(niceness);
process.once("disconnect", () => process.kill(process.pid, "SIGKILL"));
process.on("message", (order: Order) => void answer(order));
