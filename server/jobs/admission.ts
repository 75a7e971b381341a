import { createHash } from "node:crypto";
import { and, eq, inArray, isNull, sql } from "drizzle-orm";
import { type Db, schema, tiers, type Tx } from "../db/index.ts";
import { type InputRole, maxOutputPixels } from "../engines.ts";
import { AppError, type Config, errorRules, pictureLimits } from "../platform/index.ts";
import type { Services } from "../services.ts";
import { type Job, openStatuses, transitionAll } from "./job.ts";
import type { SubmitRequest } from "./request.ts";

export interface Admission {
  readonly ownerId: string;
  readonly isGuest: boolean;
  readonly queue: string;
  readonly tier: number;
}

/**
 * Checks the limits of the owner and of the queue; returns the jobs that were displaced. The lock is per owner, so
 * that submits of one owner count each other; submits of different owners may exceed the limit of a queue slightly.
 */
export async function admit(tx: Tx, config: Config, admission: Admission): Promise<readonly Job[]> {
  const { ownerId, isGuest, queue, tier } = admission;
  await tx.execute(sql`select pg_advisory_xact_lock(hashtext('submit'), hashtext(${ownerId}))`);
  const result = await tx.execute<{ own: number; waiting: number }>(sql`
    select count(*) filter (where owner_id = ${ownerId})::int as own,
      count(*) filter (where queue = ${queue} and status = 'pending')::int as waiting
    from ${schema.jobs} where status in ${[...openStatuses]}`);
  const { own = 0, waiting = 0 } = result[0] ?? {};
  const limit = isGuest ? config.limits.openJobsGuest : config.limits.openJobs;
  if (own >= limit)
    throw new AppError(
      "quota_exceeded",
      `You have ${own} open jobs, which is the limit. Wait until some are done.`,
    );
  if (isGuest) await admitGuest(tx, config, queue);
  if (waiting < config.limits.maxWaiting) return [];
  if (tier < tiers.urgent) throw new AppError("queue_full");
  return displaceOne(tx, queue);
}

/** A new guest account costs nothing, so all guests together may fill only a part of a line. */
async function admitGuest(tx: Tx, { limits }: Config, queue: string): Promise<void> {
  const { jobs, users } = schema;
  const result = await tx.execute<{ waiting: number }>(sql`
    select count(*)::int as waiting from ${jobs} j join ${users} u on u.id = j.owner_id
    where j.queue = ${queue} and j.status = 'pending' and u.is_anonymous`);
  if ((result[0]?.waiting ?? 0) < Math.floor(limits.maxWaiting * limits.guestShareOfLine)) return;
  throw new AppError(
    "queue_full",
    "The places of guests in the line are taken at the moment. Try again in a few minutes, or sign in.",
  );
}

/** Fails the oldest job of tier `low` in a full line; without such a job the line grows by one. */
async function displaceOne(tx: Tx, queue: string): Promise<readonly Job[]> {
  return transitionAll(tx, {
    from: ["pending"],
    to: "failed",
    // Two urgent submits at the same moment displace two rows.
    where: sql`id = (select low.id from ${schema.jobs} low
      where low.queue = ${queue} and low.status = 'pending' and low.tier = ${tiers.low}
      order by low.id limit 1 for update skip locked)`,
    set: { errorCode: "displaced", errorMessage: errorRules.displaced.message },
    event: "displaced",
  });
}

export type InputImage = typeof schema.images.$inferSelect;
export type InputImages = ReadonlyMap<InputRole, InputImage>;

/** Reads the input pictures of a request and locks them. Throws `not_found` also for pictures of other owners. */
export async function loadInputs(tx: Tx, ownerId: string, request: SubmitRequest): Promise<InputImages> {
  const wanted = wantedOf(request);
  if (wanted.length === 0) return new Map();
  return toInputs(request, await selectInputs(tx, ownerId, wanted).for("share"));
}

/** `loadInputs` for an answer that stores nothing: without locks. */
export async function readInputs(db: Db, ownerId: string, request: SubmitRequest): Promise<InputImages> {
  const wanted = wantedOf(request);
  if (wanted.length === 0) return new Map();
  return toInputs(request, await selectInputs(db, ownerId, wanted));
}

type Wanted = readonly (readonly [InputRole, string])[];

function wantedOf({ inputs }: SubmitRequest): Wanted {
  // Safe: the schema of the inputs has roles for its keys; one that is left out is not there.
  return Object.entries(inputs) as [InputRole, string][];
}

function selectInputs(db: Db | Tx, ownerId: string, wanted: Wanted) {
  const { images } = schema;
  const ids = wanted.map(([, id]) => id);
  return db
    .select()
    .from(images)
    .where(and(eq(images.ownerId, ownerId), isNull(images.deletedAt), inArray(images.id, ids)));
}

function toInputs(request: SubmitRequest, rows: readonly InputImage[]): InputImages {
  const found = new Map(rows.map((row) => [row.id, row]));
  const inputs = new Map<InputRole, InputImage>();
  for (const [role, id] of wantedOf(request)) {
    const image = found.get(id);
    if (!image)
      throw new AppError("not_found", `There is no picture ${id} for "${role}".`, { details: { role } });
    if ((role === "mask") !== (image.role === "mask")) {
      throw new AppError(
        "bad_request",
        role === "mask" ? "The mask must be uploaded with role=mask." : "A mask cannot be used as a picture.",
      );
    }
    inputs.set(role, image);
  }
  checkSizes(request, inputs);
  return inputs;
}

function checkSizes(request: SubmitRequest, inputs: InputImages): void {
  const image = inputs.get("image") ?? inputs.get("person");
  const mask = inputs.get("mask");
  if (image && mask && (image.widthPx !== mask.widthPx || image.heightPx !== mask.heightPx)) {
    throw new AppError(
      "mask_size",
      `The mask has ${mask.widthPx} × ${mask.heightPx} pixels, the picture ${image.widthPx} × ${image.heightPx}.`,
    );
  }
  if (request.kind === "upscale" && image) {
    const pixels = image.widthPx * image.heightPx * request.params.scale ** 2;
    if (pixels > maxOutputPixels) {
      const megapixels = Math.round(pixels / 100_000) / 10;
      throw new AppError(
        "output_too_large",
        `The result would have ${megapixels} megapixels; at most ${pictureLimits.outputMegapixels} are possible.`,
      );
    }
  }
}

/** The input pictures of a job by role, including those that the owner has deleted since. */
export async function loadInputImages(
  { db }: Pick<Services, "db">,
  jobId: string,
): Promise<ReadonlyMap<InputRole, InputImage>> {
  const { jobInputs, images } = schema;
  const rows = await db
    .select({ role: jobInputs.role, image: images })
    .from(jobInputs)
    .innerJoin(images, eq(images.id, jobInputs.imageId))
    .where(eq(jobInputs.jobId, jobId));
  return new Map(rows.map(({ role, image }) => [role, image]));
}

const keys = schema.idempotencyKeys;

export interface RequestMemory {
  readonly ownerId: string;
  readonly key: string;
  readonly request: SubmitRequest;
  readonly jobId: string;
}

/**
 * Stores the idempotency key with the hash of the request and returns null, or returns the id of the job that the key
 * created before. Of two simultaneous requests the second waits at the unique key for the commit of the first.
 */
export async function rememberRequest(
  tx: Tx,
  { ownerId, key, request, jobId }: RequestMemory,
): Promise<string | null> {
  const requestSha256 = createHash("sha256").update(canonical(request)).digest("hex");
  const inserted = await tx
    .insert(keys)
    .values({ ownerId, key, requestSha256, jobId })
    .onConflictDoNothing()
    .returning();
  if (inserted.length > 0) return null;
  const [known] = await tx
    .select()
    .from(keys)
    .where(and(eq(keys.ownerId, ownerId), eq(keys.key, key)));
  if (!known || known.requestSha256 !== requestSha256) throw new AppError("idempotency_mismatch");
  return known.jobId;
}

/** JSON with sorted keys: the order of the members in a body must not change the hash. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, member: unknown) =>
    typeof member === "object" && member !== null && !Array.isArray(member)
      ? Object.fromEntries(Object.entries(member).toSorted(([a], [b]) => (a < b ? -1 : 1)))
      : member,
  );
}
