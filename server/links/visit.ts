import { createHmac, timingSafeEqual } from "node:crypto";
import { eq, sql } from "drizzle-orm";
import { isPassword, suspendedUsers } from "../accounts/plain.ts";
import { type BatchPlan, type BatchValues, readPlan } from "../batches/index.ts";
import { schema } from "../db/index.ts";
import { type AiFacts, isAiPicture, type OpenedFile, openFile, type Variant } from "../images/index.ts";
import { AppError, hashOfToken, isAppError, isId } from "../platform/index.ts";
import type { Services } from "../services.ts";
import { picturesOf } from "./links.ts";

const { images, links } = schema;

export interface ShownPicture {
  readonly id: string;
  readonly widthPx: number;
  readonly heightPx: number;
  /** The axes of its place in a lookbook, without prompts; empty where there are none. */
  readonly label: string;
  /** Is shown as made with AI. */
  readonly isAi: boolean;
}

/** What a visitor sees. */
export interface ShownLink {
  readonly id: string;
  readonly title: string;
  readonly mayDownload: boolean;
  readonly pictures: readonly ShownPicture[];
  /** Pictures that are still being made. */
  readonly open: number;
}

/** `password`: it has to be given first. */
type Visit =
  | { readonly state: "password"; readonly linkId: string }
  | { readonly state: "shown"; readonly link: ShownLink };

interface LinkRow extends Record<string, unknown> {
  readonly id: string;
  readonly ownerId: string;
  readonly batchId: string | null;
  readonly boardId: string | null;
  readonly title: string;
  readonly passwordHash: string | null;
  readonly mayDownload: boolean;
}

/** Far longer than any token of ours. */
const maxTokenLength = 100;

/** Throws `not_found` for what is unknown, revoked or over, and for a suspended owner. */
async function findLink({ db }: Pick<Services, "db">, token: string): Promise<LinkRow> {
  const [row] =
    token.length > maxTokenLength
      ? []
      : await db.execute<LinkRow>(sql`
          select l.id, l.owner_id as "ownerId", l.batch_id as "batchId", l.board_id as "boardId", l.title,
            l.password_hash as "passwordHash", l.may_download as "mayDownload"
          from ${links} l
          where l.token_hash = ${hashOfToken(token)} and l.revoked_at is null
            and (l.ends_at is null or l.ends_at > now()) and l.owner_id not in (${suspendedUsers})`);
  if (!row) throw new AppError("not_found");
  return row;
}

const proofHours = 12;
const nowS = () => Math.floor(Date.now() / 1_000);

/** Made with the stored hash, so that a new password ends it. */
function signProof({ id, passwordHash }: LinkRow, endsAtS: number): string {
  return createHmac("sha256", passwordHash ?? "")
    .update(`${id} ${endsAtS}`)
    .digest("base64url");
}

function isProven(link: LinkRow, proof: string | undefined): boolean {
  if (link.passwordHash === null) return true;
  const [endsAtS = "", signature = ""] = proof?.split(".") ?? [];
  if (!(Number(endsAtS) > nowS())) return false;
  const [given, right] = [Buffer.from(signature), Buffer.from(signProof(link, Number(endsAtS)))];
  return given.length === right.length && timingSafeEqual(given, right);
}

/**
 * What the browser holds from now on, for the right password; null for a wrong one. The caller limits the tries. Throws
 * `not_found`.
 */
export async function proveVisit(
  services: Services,
  { token, password }: { readonly token: string; readonly password: string },
): Promise<{ readonly proof: string; readonly maxAgeS: number } | null> {
  const link = await findLink(services, token);
  const maxAgeS = proofHours * 3_600;
  const endsAtS = nowS() + maxAgeS;
  const hash = link.passwordHash;
  if (hash !== null && !(await isPassword({ hash, password }))) return null;
  return { proof: `${endsAtS}.${signProof(link, endsAtS)}`, maxAgeS };
}

interface Address {
  readonly token: string;
  readonly proof: string | undefined;
}

/** What the address shows now. Throws `not_found`, also when none of its pictures is left. */
export async function visitLink(services: Services, { token, proof }: Address): Promise<Visit> {
  const link = await findLink(services, token);
  if (!isProven(link, proof)) return { state: "password", linkId: link.id };
  const { values, open } = await planOf(services, link);
  const pictures = await readPictures(services, link, values);
  if (pictures.length + open === 0) throw new AppError("not_found");
  const { id, title, mayDownload } = link;
  return { state: "shown", link: { id, title, mayDownload, pictures, open } };
}

const noPlan: BatchPlan = { values: [], open: 0 };

/** The plan of its batch; a deleted batch has none. */
async function planOf(services: Services, { ownerId, batchId }: LinkRow): Promise<BatchPlan> {
  if (batchId === null) return noPlan;
  try {
    return await readPlan(services, { ownerId, id: batchId });
  } catch (error) {
    if (isAppError(error) && error.code === "not_found") return noPlan;
    throw error;
  }
}

const shownBy = ({ id, batchId, boardId }: LinkRow) =>
  picturesOf(sql`${id}::uuid`, sql`${batchId}::uuid`, sql`${boardId}::uuid`);

interface PictureRow extends Record<string, unknown>, AiFacts {
  readonly id: string;
  readonly widthPx: number;
  readonly heightPx: number;
  readonly position: number;
}

async function readPictures(
  { db }: Services,
  link: LinkRow,
  values: readonly BatchValues[],
): Promise<ShownPicture[]> {
  const rows = await db.execute<PictureRow>(sql`
    select i.id, i.width_px as "widthPx", i.height_px as "heightPx", p.position, i.role,
      i.job_id as "jobId", i.copy_of_ai as "copyOfAi", i.nothing_generated as "nothingGenerated"
    from (${shownBy(link)}) p
    join ${images} i on i.id = p.id order by p.position, p.output`);
  const titles = await readTitles({ db }, link.ownerId, values);
  return rows.map((row) => ({
    id: row.id,
    widthPx: row.widthPx,
    heightPx: row.heightPx,
    label: labelOf(values[row.position], titles),
    isAi: isAiPicture(row),
  }));
}

const inputPrefix = "inputs.";
const stepPrefix = /^steps\.\d+\./;
/** What an axis varies, of a job or of a step of it. */
const memberOf = (param: string) => param.replace(stepPrefix, "");
/** Shown where the value is a number or a size. The axes of a list are named freely, and their values may be any words. */
const figures = new Set("seed steps guidance strength scale width height size lora".split(" "));
const figure = /^-?\d+(?:\.\d+)?(?: ?[x×:] ?\d+)?$/;
/** Shown with the name that each value is; words of several are none. */
const names = new Set(["workflow", "style", "engine", "model", "checkpoint", "sampler", "scheduler"]);
const name = /^[\w./:+-]{1,60}$/;

/** Titles of the owner's pictures that axes name, as persons and garments of a lookbook. */
async function readTitles(
  { db }: Pick<Services, "db">,
  ownerId: string,
  values: readonly BatchValues[],
): Promise<ReadonlyMap<string, string>> {
  const ids = new Set(
    values.flatMap((ofPlace) =>
      Object.entries(ofPlace)
        .filter(([param]) => memberOf(param).startsWith(inputPrefix))
        .map(([, id]) => String(id))
        .filter((id) => isId(id)),
    ),
  );
  if (ids.size === 0) return new Map();
  const rows = await db
    .select({ id: images.id, title: images.title })
    .from(images)
    .where(
      sql`${images.id} in ${[...ids]} and ${images.ownerId} = ${ownerId} and ${images.deletedAt} is null`,
    );
  return new Map(rows.map(({ id, title }) => [id, title]));
}

/** Where a picture stands in a lookbook, by what may be shown to strangers: prompts and ids stay with the owner. */
function labelOf(values: BatchValues | undefined, titles: ReadonlyMap<string, string>): string {
  return Object.entries(values ?? {})
    .map(([param, value]) => {
      const [member, text] = [memberOf(param), String(value)];
      if (member.startsWith(inputPrefix)) return titles.get(text);
      const isShown = (names.has(member) && name.test(text)) || (figures.has(member) && figure.test(text));
      return isShown ? `${param} ${text}` : undefined;
    })
    .filter(Boolean)
    .join(" · ");
}

export interface OpenPictureInput extends Address {
  readonly imageId: string;
  readonly variant: Variant;
  readonly ifNoneMatch?: string | null;
  readonly isHead?: boolean;
}

/**
 * A file of a shown picture, never by a link to the store, which would work on after a revocation. Throws `not_found`, also
 * for an original that may not be downloaded and without the password.
 */
export async function openPicture(
  services: Services,
  { token, proof, imageId, ...input }: OpenPictureInput,
): Promise<OpenedFile & { readonly position: number }> {
  const link = await findLink(services, token);
  const mayRead = isProven(link, proof) && (input.variant !== "original" || link.mayDownload);
  if (!mayRead || !isId(imageId)) throw new AppError("not_found");
  const [shown] = await services.db.execute<{ position: number }>(sql`
    select p.position from (${shownBy(link)}) p
    where p.id = ${imageId} limit 1`);
  if (!shown) throw new AppError("not_found");
  const file = await openFile(services, { ...input, ownerId: link.ownerId, id: imageId });
  return { ...file, position: shown.position };
}

/** Counts a visit of its page. */
export async function noteView({ db }: Services, linkId: string): Promise<void> {
  await db
    .update(links)
    .set({ views: sql`${links.views} + 1` })
    .where(eq(links.id, linkId));
}
