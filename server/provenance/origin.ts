import { buffer } from "node:stream/consumers";
import { readFile } from "node:fs/promises";
import { createHash } from "node:crypto";
import { eq } from "drizzle-orm";
import { schema } from "../db/index.ts";
import type { InputRole, JobKind } from "../engines.ts";
import { digitalSourceTypes, humanEdits } from "../safety.ts";
import type { Services } from "../services.ts";
import { openObject } from "../storage/index.ts";
import type { Ingredient, Step, Story } from "./sign.ts";

const { images, jobInputs, jobs } = schema;

/** A result that is about to be stored. */
export interface MadePicture {
  readonly id: string;
  readonly jobId: string;
  readonly kind: JobKind;
  readonly mime: string;
  readonly nothingGenerated: boolean;
  readonly isMarked: boolean;
  /** The file as its engine or provider made it, whose own manifests are kept. */
  readonly madeFile: { readonly path: string; readonly mime: string };
  /** Files with the inputs of the job, by role; what is not there is read from the store. */
  readonly inputFiles: Partial<Record<InputRole, string>>;
  /** Of the original of a picture's row in the store. */
  readonly keyOf: (image: { readonly storageKey: string; readonly mime: string }) => string;
}

/** The id by which manifests name a picture of the studio. */
export const instanceIdOf = (imageId: string) => `${instancePrefix}${imageId}`;
const instancePrefix = "xmp:iid:";

/** The part of an instance id behind its prefix; null for one of another form. */
export function imageIdOf(instanceId: string): string | null {
  return instanceId.startsWith(instancePrefix) ? instanceId.slice(instancePrefix.length) : null;
}

const actions = {
  text_to_image: "c2pa.created",
  segment: "c2pa.created",
  outfit_change: "c2pa.edited",
  inpaint: "c2pa.edited",
  upscale: "c2pa.edited",
  remove_background: "c2pa.edited",
  edit: "c2pa.edited",
  restore_faces: "c2pa.edited",
  expand: "c2pa.edited",
  restore: "c2pa.edited",
  adjust: "c2pa.color_adjustments",
  crop: "c2pa.cropped",
} as const satisfies Record<JobKind, string>;

const markDigits = 8;

/** The number of a picture's watermark, 32 bits: pictures are found by it through the index `images_mark`. */
export function markOf(imageId: string): number {
  return Number.parseInt(createHash("md5").update(imageId).digest("hex").slice(0, markDigits), 16);
}

/** As the index has it. */
export const digitsOf = (mark: number) => mark.toString(16).padStart(markDigits, "0");

type InputRow = typeof images.$inferSelect & { readonly inputRole: InputRole };

/** How a result was made: what for, by which model, of which pictures. Names no person and no prompt. */
export async function tellOrigin(services: Pick<Services, "db" | "disk">, made: MadePicture): Promise<Story> {
  const [job] = await services.db.select({ need: jobs.need }).from(jobs).where(eq(jobs.id, made.jobId));
  const inputs = await readInputs(services, made.jobId);
  const ingredients: Ingredient[] = [];
  for (const input of inputs) ingredients.push(await ingredientOf(services, made, input));
  const given = await readGiven(made);
  if (given) ingredients.push(given);
  return {
    instanceId: instanceIdOf(made.id),
    mime: made.mime,
    madeAt: new Date(),
    ingredients,
    steps: stepsOf(made, ingredients, job?.need),
  };
}

function stepsOf(
  { id, kind, nothingGenerated, isMarked }: MadePicture,
  ingredients: readonly Ingredient[],
  agent?: string,
): Step[] {
  const parent = ingredients.findIndex(({ relationship }) => relationship === "parentOf");
  const others = [...ingredients.keys()].filter((at) => at !== parent);
  const action = actions[kind];
  const main: Step = {
    // A manifest begins with what was there: without it, its picture was made here.
    action: parent === -1 ? "c2pa.created" : action,
    digitalSourceType: nothingGenerated ? humanEdits : digitalSourceTypes[kind],
    ...(agent === undefined ? {} : { agent }),
    of: others,
    parameters: { "atelier.kind": kind },
  };
  const marked: Step = {
    action: "c2pa.watermarked.unbound",
    parameters: { "atelier.watermark": digitsOf(markOf(id)) },
  };
  return [
    ...(parent === -1 ? [] : [{ action: "c2pa.opened", of: [parent] }]),
    main,
    ...(isMarked ? [marked] : []),
  ];
}

/** The pictures that a job took, without masks: those say where, not what. */
async function readInputs({ db }: Pick<Services, "db">, jobId: string): Promise<InputRow[]> {
  const rows = await db
    .select({ image: images, inputRole: jobInputs.role })
    .from(jobInputs)
    .innerJoin(images, eq(images.id, jobInputs.imageId))
    .where(eq(jobInputs.jobId, jobId))
    .orderBy(jobInputs.role);
  return rows
    .filter(({ inputRole }) => inputRole !== "mask")
    .map(({ image, inputRole }) => ({ ...image, inputRole }));
}

/** What the engine or provider says itself of the picture that it made; null where it says nothing. */
async function readGiven({ id, madeFile }: MadePicture): Promise<Ingredient | null> {
  const bytes = await readFile(madeFile.path);
  // A quick look, since most files have none.
  if (!bytes.includes("jumb")) return null;
  const { hasManifest } = await import("./sign.ts");
  if (!hasManifest(bytes)) return null;
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  return {
    relationship: "componentOf",
    instanceId: `${instanceIdOf(id)}/as-made`,
    mime: madeFile.mime,
    sha256,
    bytes,
  };
}

async function ingredientOf(
  services: Pick<Services, "disk">,
  made: MadePicture,
  input: InputRow,
): Promise<Ingredient> {
  return {
    relationship: relationshipOf(made.kind, input.inputRole),
    instanceId: instanceIdOf(input.id),
    mime: input.mime,
    sha256: input.storedSha256,
    bytes: await readStored(services, made, input),
  };
}

function relationshipOf(kind: JobKind, role: InputRole): Ingredient["relationship"] {
  if (kind === "segment") return "inputTo";
  if (role === "image" || role === "person") return "parentOf";
  return role === "base" || role === "background" ? "componentOf" : "inputTo";
}

/** The stored file of an input; null when it is gone. */
async function readStored(
  { disk }: Pick<Services, "disk">,
  { inputFiles, keyOf }: MadePicture,
  input: InputRow,
): Promise<Buffer | null> {
  const file = inputFiles[input.inputRole];
  const given = file === undefined ? null : await readFile(file).catch(() => null);
  // The copy for an engine is another file where something was hidden in the picture.
  if (given && createHash("sha256").update(given).digest("hex") === input.storedSha256) return given;
  const found = await openObject(disk, keyOf(input));
  return found && buffer(found.stream);
}
