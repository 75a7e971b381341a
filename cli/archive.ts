import { archive as runArchivist, embedMissing } from "@atelier/server/assistant/stages";
import { withServices } from "./database.ts";

/** Makes memories of all that no memory holds yet, now. Returns the exit code. */
export function archive(): Promise<number> {
  return withServices(async (services) => {
    const { signal } = new AbortController();
    const made = await runArchivist(services, { signal, isForced: true, takesYoung: true });
    if (!made) throw new Error("Another process archives at the moment. Try again in some minutes.");
    console.log(`${made.parts} talks were read, ${made.memories} memories made.`);
    const embedded = await embedMissing(services, { signal, isForced: true });
    if (embedded !== null) console.log(`${embedded} vectors for the search were made.`);
  });
}
