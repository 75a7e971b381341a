import path from "node:path";
import { and, desc, eq, inArray, isNull, max, sql, type SQL } from "drizzle-orm";
import { type Db, schema } from "../db/index.ts";
import { type InputRole, isPlainKind, maxOutputPixels } from "../engines.ts";
import { type ImageView, isAiPicture, readOriginalTo, toImageView, viewColumns } from "../images/index.ts";
import { AppError, pictureLimits, keptBy } from "../platform/index.ts";
import { type Crop, rectOf, straightenedSize } from "../retouch/index.ts";
import type { Services } from "../services.ts";
import type { Job } from "./job.ts";
import type { SubmitRequest } from "./request.ts";

export type InputImage = typeof schema.images.$inferSelect;

/** The facts of a picture that a request needs; they never change. */
export type InputFacts = Pick<InputImage, "id" | "role" | "widthPx" | "heightPx" | "storedSha256"> & {
  /** The result of a job that has not run: its size may be another one. */
  readonly isToCome?: boolean;
};
export type Inputs = ReadonlyMap<InputRole, InputFacts>;

/**
 * Reads the input pictures of a request. Throws `not_found` also for pictures of other owners, `bad_request` for a mask
 * where a picture is required and the reverse, a click or a crop outside of the picture or a base of another size, `mask_size`,
 * `output_too_large`.
 */
export async function readInputs(db: Db, ownerId: string, request: SubmitRequest): Promise<Inputs> {
  const wanted = wantedOf(request);
  if (wanted.length === 0) return new Map();
  const rows = await selectInputs(db, ownerId, wanted);
  rememberInputs(db, rows);
  return toInputs(request, rows);
}

/**
 * `readInputs` from memory as far as possible, also of pictures that have no row yet: a picture may have been deleted since;
 * `accept_job` checks that.
 */
export async function recallInputs(db: Db, ownerId: string, request: SubmitRequest): Promise<Inputs> {
  const facts = keptFactsOf(db);
  const known = wantedOf(request).flatMap(([, id]) => facts.get(id) ?? []);
  const own = known.filter((image) => image.ownerId === ownerId);
  const missing = wantedOf(request).filter(([, id]) => !own.some((image) => image.id === id));
  const read = missing.length === 0 ? [] : await selectInputs(db, ownerId, missing);
  rememberInputs(db, read);
  return toInputs(request, [...own, ...read]);
}

type Remembered = InputFacts & Pick<InputImage, "ownerId">;
/** A picture that has no row yet. */
export type NewInput = Remembered;

/** Pictures whose facts a process keeps; the page asks for an estimate before it submits the same pictures. */
const keptFacts = 500;
const keptFactsOf = keptBy((_db: Db) => new Map<string, Remembered>());

/** Makes `recallInputs` find pictures, also those that have no row yet. Drops those that were remembered first. */
export function rememberInputs(db: Db, images: readonly Remembered[]): void {
  const facts = keptFactsOf(db);
  for (const image of images) facts.set(image.id, image);
  for (const id of facts.keys()) {
    if (facts.size <= keptFacts) break;
    facts.delete(id);
  }
}

type Wanted = readonly (readonly [InputRole, string])[];

function wantedOf({ inputs }: SubmitRequest): Wanted {
  // Safe: the schema of the inputs has roles for its keys; a missing role has no key.
  return Object.entries(inputs) as [InputRole, string][];
}

function selectInputs(db: Db, ownerId: string, wanted: Wanted): Promise<Remembered[]> {
  const { images } = schema;
  const { id, role, widthPx, heightPx, storedSha256 } = images;
  const ids = wanted.map(([, imageId]) => imageId);
  return db
    .select({ id, role, widthPx, heightPx, storedSha256, ownerId: images.ownerId })
    .from(images)
    .where(and(eq(images.ownerId, ownerId), isNull(images.deletedAt), inArray(images.id, ids)));
}

function toInputs(request: SubmitRequest, rows: readonly InputFacts[]): Inputs {
  const found = new Map(rows.map((row) => [row.id, row]));
  const inputs = new Map<InputRole, InputFacts>();
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

/** Throws what `readInputs` does for sizes. */
export function checkSizes(request: SubmitRequest, inputs: Inputs): void {
  const image = inputs.get("image") ?? inputs.get("person");
  const mask = inputs.get("mask");
  if (image && mask && (image.widthPx !== mask.widthPx || image.heightPx !== mask.heightPx)) {
    throw new AppError(
      "mask_size",
      `The mask has ${mask.widthPx} × ${mask.heightPx} pixels, the picture ${image.widthPx} × ${image.heightPx}.`,
    );
  }
  if (!image) return;
  if (request.kind === "crop") checkCrop(request.params, image);
  if (request.kind === "restore") checkBase(image, inputs.get("base"));
  if (request.kind === "segment") checkPlaces(request.params, image);
  if (request.kind === "expand") checkPixels(pixelsOfExpanded(request.params, image));
  if (request.kind === "upscale") checkPixels(image.widthPx * image.heightPx * request.params.scale ** 2);
}

function pixelsOfExpanded(
  { left, top, right, bottom }: Extract<SubmitRequest, { kind: "expand" }>["params"],
  { widthPx, heightPx }: InputFacts,
): number {
  return (widthPx + left + right) * (heightPx + top + bottom);
}

function checkPixels(pixels: number): void {
  if (pixels <= maxOutputPixels) return;
  const megapixels = Math.round(pixels / 100_000) / 10;
  throw new AppError(
    "output_too_large",
    `The result would have ${megapixels} megapixels; at most ${pictureLimits.outputMegapixels} are possible.`,
  );
}

function checkPlaces(
  { clicks = [], box }: Extract<SubmitRequest, { kind: "segment" }>["params"],
  { widthPx, heightPx }: InputFacts,
): void {
  const size = `${widthPx} × ${heightPx} pixels`;
  const outside = clicks.find(({ x, y }) => x >= widthPx || y >= heightPx);
  if (outside)
    throw new AppError(
      "bad_request",
      `The click at ${outside.x}, ${outside.y} is outside of the picture, which has ${size}.`,
    );
  if (box && (box.left + box.width > widthPx || box.top + box.height > heightPx))
    throw new AppError("bad_request", `The box reaches beyond the picture, which has ${size}.`);
}

function checkCrop(crop: Crop, image: InputFacts): void {
  const size = { width: image.widthPx, height: image.heightPx };
  const straight = straightenedSize(size, crop);
  const { left, top, width, height } = rectOf(size, crop);
  if (left + width > straight.width || top + height > straight.height)
    throw new AppError(
      "bad_request",
      `The part to keep reaches beyond the picture, which has ${straight.width} × ${straight.height} pixels when it is turned and straightened.`,
    );
  checkPixels(width * height);
}

function checkBase(image: InputFacts, base: InputFacts | undefined): void {
  if (!base || (base.widthPx === image.widthPx && base.heightPx === image.heightPx)) return;
  throw new AppError(
    "bad_request",
    `What is painted back has ${base.widthPx} × ${base.heightPx} pixels, the picture ${image.widthPx} × ${image.heightPx}: both need the same size.`,
  );
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

interface FetchedInputs {
  readonly images: ReadonlyMap<InputRole, InputImage>;
  /** The files by role. */
  readonly files: Readonly<Partial<Record<InputRole, string>>>;
}

/** Copies the input pictures of a job into a folder. Throws `input_missing`, and at once the signal's reason. */
export async function fetchInputs(
  services: Services,
  job: Pick<Job, "id" | "inputCount">,
  { workDir, signal }: { readonly workDir: string; readonly signal: AbortSignal },
): Promise<FetchedInputs> {
  const files: Partial<Record<InputRole, string>> = {};
  if (job.inputCount === 0) return { images: new Map(), files };
  const images = await loadInputImages(services, job.id);
  if (images.size < job.inputCount) throw new AppError("input_missing");
  for (const [role, image] of images) {
    const file = path.join(workDir, role);
    await readOriginalTo(services, image, { path: file, signal });
    files[role] = file;
  }
  return { images, files };
}

/** Whether no AI had a part in the result of this job: its kind generates nothing, and its pictures are no such results. */
export async function isNothingGenerated(
  services: Pick<Services, "db">,
  { id, kind }: Pick<Job, "id" | "kind">,
): Promise<boolean> {
  if (!isPlainKind(kind)) return false;
  const inputs = [...(await loadInputImages(services, id))];
  return inputs.every(([role, image]) => role === "mask" || !isAiPicture(image));
}

/** A result whose files are already stored; its row is inserted when the job completes. */
export interface StoredResult {
  readonly id: string;
  readonly storageKey: string;
  readonly storedSha256: string;
  readonly mime: string;
  readonly widthPx: number;
  readonly heightPx: number;
  readonly sizeBytes: number;
  readonly thumbhash: string;
  /** Default: false. */
  readonly nothingGenerated?: boolean;
}

/** Common table expressions for `complete`: the image rows of the results and their links to the job, in their order. */
export function insertOutputs(outputs: readonly StoredResult[]): SQL {
  const rows = JSON.stringify(outputs.map((output, position) => ({ ...output, position })));
  return sql`, made as (
      select * from jsonb_to_recordset(${rows}::jsonb) as made(position int, id uuid, "storageKey" text, "storedSha256" text,
        mime text, "widthPx" int, "heightPx" int, "sizeBytes" bigint, thumbhash text, "nothingGenerated" boolean)
    ), stored as (
      insert into ${schema.images} (id, owner_id, role, storage_key, stored_sha256, mime, width_px, height_px, size_bytes, thumbhash, nothing_generated, job_id)
      select made.id, moved.owner_id, case moved.kind when 'segment' then 'mask' else 'result' end, "storageKey", "storedSha256", mime, "widthPx", "heightPx", "sizeBytes", thumbhash, coalesce("nothingGenerated", false), moved.id
      from moved, made
    ), linked as (
      insert into ${schema.jobOutputs} (job_id, position, image_id) select moved.id, made.position, made.id from moved, made
    )`;
}

export interface RecentInputsQuery {
  readonly ownerId: string;
  readonly role: InputRole;
  readonly limit: number;
}

/** The pictures that an owner used last in a role, newest first, each once, without deleted ones. */
export async function recentInputs(
  { db }: Pick<Services, "db">,
  { ownerId, role, limit }: RecentInputsQuery,
): Promise<ImageView[]> {
  const { jobInputs, jobs, images } = schema;
  const used = db
    .select({ imageId: jobInputs.imageId, at: max(jobs.createdAt).as("used_at") })
    .from(jobInputs)
    .innerJoin(jobs, eq(jobs.id, jobInputs.jobId))
    .where(and(eq(jobs.ownerId, ownerId), eq(jobInputs.role, role)))
    .groupBy(jobInputs.imageId)
    .as("used");
  const rows = await db
    .select(viewColumns)
    .from(used)
    .innerJoin(images, eq(images.id, used.imageId))
    .leftJoin(jobs, eq(jobs.id, images.jobId))
    .where(and(eq(images.ownerId, ownerId), isNull(images.deletedAt)))
    .orderBy(desc(used.at))
    .limit(limit);
  return rows.map(toImageView);
}
