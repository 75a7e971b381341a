import { and, asc, eq, isNotNull, isNull } from "drizzle-orm";
import { schema } from "../db/index.ts";
import { countUpTo } from "../images/index.ts";
import { isAppError } from "../platform/index.ts";
import type { Services } from "../services.ts";

const { boards } = schema;

/** What a saved search finds, as the gallery shows it: one picture of each stack. */
interface SavedCount {
  readonly id: string;
  /** At most 100, which means 100 or more. */
  readonly pictures: number;
}

const most = { searches: 20, pictures: 100 } as const;

interface CountInput {
  readonly ownerId: string;
  /** Of days that a search names, by its IANA name; UTC by default. */
  readonly timezone?: string | undefined;
  /** No search begins after it; the counts so far are returned. */
  readonly signal?: AbortSignal | undefined;
}

/** Of the first saved searches by the alphabet; without those that go by meaning, cannot be read or take too long. */
export async function countSaved(
  services: Pick<Services, "db" | "log">,
  { ownerId, timezone, signal }: CountInput,
): Promise<SavedCount[]> {
  const saved = await services.db
    .select({ id: boards.id, search: boards.search })
    .from(boards)
    .where(and(eq(boards.ownerId, ownerId), isNull(boards.removedAt), isNotNull(boards.search)))
    .orderBy(asc(boards.key), asc(boards.id))
    .limit(most.searches);
  const counts: SavedCount[] = [];
  for (const { id, search } of saved) {
    if (signal?.aborted) break;
    const asked = { ownerId, search: search ?? "", timezone, stacks: true, most: most.pictures };
    const pictures = await countUpTo(services, asked).catch((error: unknown) => {
      // Saved by another version, whose searches have operators that this one does not know.
      const isUnreadable = isAppError(error) && error.code === "bad_request";
      if (!isUnreadable) services.log.warn({ err: error, boardId: id }, "a saved search is not counted");
      return null;
    });
    if (pictures !== null) counts.push({ id, pictures });
  }
  return counts;
}
