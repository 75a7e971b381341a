import { sql } from "drizzle-orm";
import { schema } from "../db/index.ts";
import type { JobKind } from "../engines.ts";
import type { Services } from "../services.ts";

const { images, jobs } = schema;

export interface SearchInput {
  readonly ownerId: string;
  /** Any of them, in titles, prompts and names of kinds; without one the newest pictures are found. */
  readonly words: readonly string[];
  readonly kind?: JobKind | undefined;
  readonly from?: Date | null | undefined;
  readonly to?: Date | null | undefined;
  readonly limit: number;
}

/** A picture with the words that it was found by. */
export interface FoundImage {
  readonly id: string;
  readonly title: string;
  readonly role: "upload" | "result";
  readonly kind: JobKind | null;
  readonly prompt: string | null;
  readonly jobId: string | null;
  readonly createdAt: Date;
}

const maxWords = 12;

/** `%` and `_` stand for themselves. */
function containing(word: string): string {
  return `%${word.replaceAll(/[\\%_]/g, String.raw`\$&`)}%`;
}

/** An owner's pictures that match most words first, newest first among equals; masks and deleted ones never. */
export async function searchImages(
  { db }: Pick<Services, "db">,
  { ownerId, words, kind, from, to, limit }: SearchInput,
): Promise<FoundImage[]> {
  const patterns = words.slice(0, maxWords).map(containing);
  const text = sql`concat_ws(' ', i.title, j.params ->> 'prompt', replace(j.kind, '_', ' '))`;
  const hits = patterns.map((pattern) => sql`(${text} ilike ${pattern})::int`);
  const matches = hits.length > 0 ? sql.join(hits, sql` + `) : sql`1`;
  const filters = [
    sql`i.owner_id = ${ownerId} and i.deleted_at is null and i.role <> 'mask'`,
    ...(kind === undefined ? [] : [sql`j.kind = ${kind}`]),
    ...(from ? [sql`i.created_at >= ${from.toISOString()}`] : []),
    ...(to ? [sql`i.created_at <= ${to.toISOString()}`] : []),
  ];
  const rows = await db.execute<Record<string, unknown>>(sql`
    select id, title, role, kind, prompt, job_id as "jobId", created_at as "createdAt" from (
      select i.id, i.title, i.role, i.job_id, i.created_at, j.kind, j.params ->> 'prompt' as prompt, ${matches} as matches
      from ${images} i left join ${jobs} j on j.id = i.job_id where ${sql.join(filters, sql` and `)}
    ) found where matches > 0 order by matches desc, id desc limit ${limit}`);
  // Safe: the columns are named as the members.
  return rows.map(
    (row) => ({ ...row, createdAt: new Date(String(row["createdAt"])) }) as unknown as FoundImage,
  );
}
