import { and, eq, getTableColumns, gt, sql } from "drizzle-orm";
import { schema } from "../db/index.ts";
import type { Services } from "../services.ts";

const { modelNotes } = schema;

/** What was noticed about a model of a server of one's own: the admin reads it, and calls keep to it for a day. */
export interface ModelNote {
  readonly model: string;
  /** Parts of the API that it refused: requests go without. */
  readonly refused: readonly string[];
  /** Tokens that it read of a question that had more; null when nothing was cut. */
  readonly readTokens: number | null;
  readonly sentTokens: number | null;
  readonly notedAt: string;
}

type Noting = Pick<Services, "db" | "env">;

/** After a day a model is asked for everything again: servers are updated. */
const isFresh = gt(modelNotes.notedAt, sql`clock_timestamp() - interval '1 day'`);

const addressOf = ({ env }: Pick<Services, "env">) => env.LLM_BASE_URL ?? "";

/** What is known of a model; nothing of one that was not called in the last day. */
export async function readModelNote(services: Noting, model: string): Promise<Omit<ModelNote, "notedAt">> {
  const [row] = await services.db
    .select()
    .from(modelNotes)
    .where(and(eq(modelNotes.model, model), eq(modelNotes.address, addressOf(services)), isFresh));
  return row ?? { model, refused: [], readTokens: null, sentTokens: null };
}

const { address: _address, ...noteColumns } = getTableColumns(modelNotes);

/** All that is known of the models at the present address. */
export async function listModelNotes(services: Noting): Promise<ModelNote[]> {
  const rows = await services.db
    .select(noteColumns)
    .from(modelNotes)
    .where(and(eq(modelNotes.address, addressOf(services)), isFresh))
    .orderBy(modelNotes.model);
  return rows.map(({ notedAt, ...row }) => ({ ...row, notedAt: notedAt.toISOString() }));
}

/** A model refused these: of two processes that learn at once none forgets what the other one learned. */
export async function learnRefused(
  services: Noting,
  model: string,
  refused: readonly string[],
): Promise<void> {
  const { db } = services;
  await db
    .insert(modelNotes)
    .values({ model, address: addressOf(services), refused: [...refused] })
    .onConflictDoUpdate({
      target: [modelNotes.model, modelNotes.address],
      set: {
        refused: sql`case when ${isFresh} then (select array_agg(distinct name) from unnest(${modelNotes.refused} || excluded.refused) name)
          else excluded.refused end`,
        notedAt: sql`clock_timestamp()`,
      },
    });
}

/** A model read less than it was sent. True when that is new. */
export async function learnContext(
  services: Noting,
  model: string,
  { readTokens, sentTokens }: { readonly readTokens: number; readonly sentTokens: number },
): Promise<boolean> {
  const known = await readModelNote(services, model);
  if (known.readTokens === readTokens) return false;
  await services.db
    .insert(modelNotes)
    .values({ model, address: addressOf(services), readTokens, sentTokens })
    .onConflictDoUpdate({
      target: [modelNotes.model, modelNotes.address],
      set: {
        readTokens,
        sentTokens,
        refused: sql`case when ${isFresh} then ${modelNotes.refused} else '{}' end`,
        notedAt: sql`clock_timestamp()`,
      },
    });
  return true;
}
