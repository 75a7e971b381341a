import { and, eq, inArray, isNull, sql } from "drizzle-orm";
import { type Db, schema } from "../db/index.ts";
import type { JobKind } from "../engines.ts";
import { isId } from "../platform/index.ts";
import type { Services } from "../services.ts";
import { findMark } from "../watermark/index.ts";
import { digitsOf, imageIdOf, markOf } from "./origin.ts";
import type { StatedStep, StatementState } from "./read.ts";

const { images, jobs, signingKeys } = schema;

/** Who asks. */
interface Asking {
  readonly userId: string;
  readonly isAdmin: boolean;
}

interface AskedFile {
  readonly bytes: Buffer;
  /** What a decoder may get of it; null for what is no picture. */
  readonly picture: Buffer | null;
}

/** What a file says of itself, and what the studio knows of it. */
export interface Identified {
  /** Null for a file without a manifest. */
  readonly statement: {
    readonly state: StatementState;
    readonly signer: string | null;
    /** Signed with a key of this studio, one of today or one before. */
    readonly isOwnSigner: boolean;
    readonly generator: string | null;
    readonly steps: readonly StatedStep[];
  } | null;
  /** The watermark, looked for where the statement does not show that the picture was made here; null when there is none. */
  readonly watermark: { readonly id: string; readonly isOwn: boolean } | null;
  /** Made in this studio, as far as the file can show it. */
  readonly isOurs: boolean;
  readonly madeAt: Date | null;
  /** For the owner of the picture and for admins, while the studio has it. */
  readonly record: {
    readonly imageId: string;
    readonly jobId: string | null;
    readonly kind: JobKind | null;
    readonly isOwn: boolean;
  } | null;
}

/** Reads the marks of a file. Nothing of it is stored. Never throws for what is wrong with a file. */
export async function identify(
  { db }: Pick<Services, "db">,
  asking: Asking,
  file: AskedFile,
): Promise<Identified> {
  const { readStatement } = await import("./read.ts");
  const read = await readStatement(file.bytes);
  if (!read) return { statement: null, ...(await identifyMark(db, asking, file)) };
  const { state, signer, generator, steps, fingerprint, instanceIds, maker } = read;
  const isOwnSigner =
    fingerprint !== null && state !== "broken" && (await areOwnCertificates(db, [fingerprint]));
  const statement = { state, signer, isOwnSigner, generator, steps };
  const ids = instanceIds.flatMap((id) => imageIdOf(id) ?? []);
  if (state === "valid" && maker && (await areOwnCertificates(db, maker.fingerprints))) {
    const record = await findRecord(db, asking, ids);
    return { statement, watermark: null, isOurs: true, madeAt: maker.madeAt, record };
  }
  const marked = await identifyMark(db, asking, file);
  if (!isOwnSigner) return { statement, ...marked };
  if (state === "valid")
    return { statement, ...marked, record: marked.record ?? (await findRecord(db, asking, ids)) };
  // A statement can be put into any file: the pixels must lead to a picture of which it speaks.
  const isOfStatement = ids.some((id) => digitsOf(markOf(id)) === marked.watermark?.id);
  return isOfStatement
    ? { statement, ...marked }
    : { statement, watermark: marked.watermark, isOurs: false, madeAt: null, record: null };
}

async function identifyMark(
  db: Db,
  asking: Asking,
  { picture }: AskedFile,
): Promise<Omit<Identified, "statement">> {
  const mark = picture && (await findMark(picture));
  if (!mark) return { watermark: null, isOurs: false, madeAt: null, record: null };
  const id = digitsOf(mark.id);
  const found = await db
    .select({ id: images.id, createdAt: images.createdAt, addedAt: images.addedAt })
    .from(images)
    .where(sql`left(md5(${images.id}::text), 8) = ${id} and ${images.role} = 'result'`)
    .orderBy(images.id)
    .limit(maxLookedUp);
  return {
    watermark: { id, isOwn: found.length > 0 },
    isOurs: found.length > 0,
    // A turned picture stands at the time of its source.
    madeAt: found[0]?.addedAt ?? found[0]?.createdAt ?? null,
    record: await findRecord(
      db,
      asking,
      found.map((image) => image.id),
    ),
  };
}

/** Whether each of these certificates signed pictures of this studio at any time. */
async function areOwnCertificates(db: Db, fingerprints: readonly string[]): Promise<boolean> {
  const wanted = [...new Set(fingerprints)];
  const found = await db
    .select({ fingerprint: signingKeys.fingerprint })
    .from(signingKeys)
    .where(inArray(signingKeys.fingerprint, wanted));
  return found.length === wanted.length;
}

/** More manifests than this in a file are not looked up. */
const maxLookedUp = 100;

/** The nearest picture that the studio still has: a copy in another format is of the picture that it was made of. */
async function findRecord(
  db: Db,
  { userId, isAdmin }: Asking,
  ids: readonly string[],
): Promise<Identified["record"]> {
  const wanted = ids.filter((id) => isId(id)).slice(0, maxLookedUp);
  if (wanted.length === 0) return null;
  const rows = await db
    .select({ imageId: images.id, jobId: images.jobId, kind: jobs.kind, ownerId: images.ownerId })
    .from(images)
    .leftJoin(jobs, eq(jobs.id, images.jobId))
    .where(
      and(
        inArray(images.id, wanted),
        isNull(images.deletedAt),
        isAdmin ? undefined : eq(images.ownerId, userId),
      ),
    );
  for (const id of wanted) {
    const row = rows.find(({ imageId }) => imageId === id);
    if (row) return { imageId: row.imageId, jobId: row.jobId, kind: row.kind, isOwn: row.ownerId === userId };
  }
  return null;
}
