import { and, eq, sql } from "drizzle-orm";
import { type Db, lockTopic, schema } from "../db/index.ts";
import { inTurn, renewTurn, type Turn } from "../leases/index.ts";
import {
  embedOnboard,
  encodeVector,
  findDimensions,
  hasTextModel,
  type Meaning,
  readVectors,
  textModel,
} from "../meaning/index.ts";
import { AppError, firstIdAt, keepNewest, keptBy, orLate } from "../platform/index.ts";
import type { Services } from "../services.ts";

const { images, jobs, recallVectors } = schema;

/** Names the vectors of pictures, apart from those of the memory: neither is found in the other. */
const pictureVectors = `onboard/${textModel.name} pictures`;

const bytesPerMb = 1024 ** 2;
/** The first search of a large library does not wait for all of its vectors to be read. */
const readLimitMs = 800;
const questionLimitMs = 1_500;
/** Standard deviations above the mean of all of an owner's pictures; of a few pictures none stands out so far. */
const leastDeviations = 1.5;
const fewPictures = 40;

type NearServices = Pick<Services, "config" | "db" | "env">;

/** What is near: a text, or what a picture says. */
export type Nearness = { readonly text: string } | { readonly imageId: string };

/**
 * Pictures of an owner that are nearest in meaning to a text or to one of them, best first; at most 200, and none that do
 * not stand out. Throws `bad_request` without a text model. Nothing is found while the model or the vectors are not ready.
 */
export async function findNear(services: NearServices, ownerId: string, what: Nearness): Promise<string[]> {
  const { config, db, env } = services;
  if (!hasTextModel(env))
    throw new AppError("bad_request", "There is no text model, so nothing is found by meaning.");
  const dimensions = await findDimensions(services, { userId: ownerId, model: pictureVectors });
  if (dimensions === null) return [];
  const owner = { userId: ownerId, model: pictureVectors, dimensions };
  const reading = readVectors(services, owner, { maxBytes: config.assistant.embedding.cacheMb * bytesPerMb });
  reading.catch(() => undefined);
  const vector =
    "text" in what ? await vectorOfText(services, what.text) : await readVector(db, ownerId, what.imageId);
  if (!vector) return [];
  const found = (await orLate(reading, readLimitMs, () => null))?.search(vector, null);
  if (!found) return [];
  const own = "imageId" in what ? [what.imageId] : [];
  return [...own, ...standOut(found).filter((id) => !own.includes(id))];
}

function standOut(meaning: Meaning): string[] {
  const ids = meaning.near.map(({ id }) => id);
  return ids.length <= fewPictures ? ids : ids.filter((id) => meaning.of(id) >= leastDeviations);
}

const mostTexts = 200;
const textsOf = keptBy((_db: Services["db"]) => new Map<string, readonly number[]>());

/** Null when the model takes too long or fails: then only words find. */
async function vectorOfText(services: NearServices, text: string): Promise<readonly number[] | null> {
  const known = textsOf(services.db);
  const before = known.get(text);
  if (before) return before;
  const signal = AbortSignal.timeout(questionLimitMs);
  const [vector] = await embedOnboard(services, [`query: ${text}`], signal).catch(() => []);
  if (!vector) return null;
  keepNewest(known, [text, vector], mostTexts);
  return vector;
}

/** The stored vector of an own picture; null without one. */
async function readVector(db: Db, ownerId: string, imageId: string): Promise<number[] | null> {
  const [row] = await db
    .select({ codes: sql<string>`encode(${recallVectors.codes}, 'base64')` })
    .from(recallVectors)
    .where(
      and(
        eq(recallVectors.id, imageId),
        eq(recallVectors.ownerId, ownerId),
        eq(recallVectors.model, pictureVectors),
      ),
    );
  return row?.codes ? [...new Int8Array(Buffer.from(row.codes, "base64"))] : null;
}

interface Wordless extends Record<string, unknown> {
  readonly id: string;
  readonly ownerId: string;
  readonly title: string;
  readonly description: string;
  readonly text: string;
}

const pageRows = 256;
const firstId = "00000000-0000-0000-0000-000000000000";

interface Round {
  readonly turn: Turn;
  readonly signal: AbortSignal;
}

const recentMs = 3_600_000;

/**
 * Makes the vectors of pictures that have none, of what their titles, descriptions and prompts say. Of several processes one does it; it
 * goes on where it was ended. Looks through all pictures, or those of the last hour (`isRecent`). Returns how many were made, null without a
 * model and when another process does it.
 */
export async function embedPictures(
  services: Pick<Services, "db" | "env" | "log">,
  { signal, isRecent }: { readonly signal: AbortSignal; readonly isRecent: boolean },
): Promise<number | null> {
  if (!hasTextModel(services.env)) return null;
  return inTurn(services, { name: "picture vectors", everyMs: 0, signal }, async (turn) => {
    if (!isRecent) await dropVectorsOfGone(services.db);
    let made = 0;
    let after = isRecent ? firstIdAt(Date.now() - recentMs) : firstId;
    for (;;) {
      const page = await findWordless(services.db, after);
      const last = page.at(-1);
      if (!last || !(await embedPage(services, page, { turn, signal }))) return made;
      made += page.length;
      after = last.id;
    }
  });
}

/** Pictures without a vector of what they say now: a trigger removes the vector with a change of title or description. */
async function findWordless(db: Db, after: string): Promise<Wordless[]> {
  const rows = await db.execute<Wordless>(sql`
    select i.id, i.owner_id as "ownerId", i.title, i.description,
      concat_ws('. ', nullif(i.title, ''), nullif(i.description, ''), j.params ->> 'prompt') as text
    from ${images} i left join ${jobs} j on j.id = i.job_id
    where i.id > ${after} and i.role <> 'mask' and i.deleted_at is null
      and not exists (select from ${recallVectors} v where v.id = i.id and v.model = ${pictureVectors})
    order by i.id limit ${pageRows}`);
  return [...rows];
}

/** False when the turn is lost or the process ends. */
async function embedPage(
  services: Pick<Services, "db" | "env">,
  page: readonly Wordless[],
  { turn, signal }: Round,
): Promise<boolean> {
  // The pictures of one job say the same.
  const texts = [...new Set(page.map(({ text }) => text))];
  const codes = new Map<string, Uint8Array | null>();
  for (let at = 0; at < texts.length; at += textsPerCall) {
    if (signal.aborted || !(await renewTurn(services, turn))) return false;
    const part = texts.slice(at, at + textsPerCall);
    const vectors = await embedOnboard(
      services,
      part.map((text) => `passage: ${text}`),
      signal,
    );
    for (const [place, text] of part.entries()) codes.set(text, encodeVector(vectors[place] ?? []));
  }
  for (const [ownerId, own] of Map.groupBy(page, (picture) => picture.ownerId))
    await storeOf(services.db, ownerId, { own, codes });
  return true;
}

const textsPerCall = 32;

interface Made {
  readonly own: readonly Wordless[];
  readonly codes: ReadonlyMap<string, Uint8Array | null>;
}

async function storeOf(db: Db, ownerId: string, { own, codes }: Made): Promise<void> {
  const rows = own.map(({ id, title, description, text }) => {
    const made = codes.get(text) ?? new Uint8Array();
    return { id, title, description, dimensions: made.length, codes: Buffer.from(made).toString("base64") };
  });
  await db.transaction(async (tx) => {
    // As for the memory: revisions of one user are given and committed in one order.
    await lockTopic(tx, "recall_vectors", ownerId);
    await tx.execute(sql`
      insert into ${recallVectors} (id, owner_id, kind, model, dimensions, codes, from_at, to_at)
      select i.id, i.owner_id, 'picture', ${pictureVectors}, made.dimensions, decode(made.codes, 'base64'), i.created_at, i.created_at
      from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as made (id uuid, title text, description text, dimensions int, codes text)
      join ${images} i on i.id = made.id and i.owner_id = ${ownerId} and i.title = made.title and i.description = made.description
      for share of i
      on conflict (id) do update set model = excluded.model, dimensions = excluded.dimensions, codes = excluded.codes,
        revision = excluded.revision`);
  });
}

async function dropVectorsOfGone(db: Db): Promise<void> {
  await db.execute(sql`
    delete from ${recallVectors} v where v.kind = 'picture' and not exists (select from ${images} i where i.id = v.id)`);
}
