import { and, eq, type SQLWrapper, sql } from "drizzle-orm";
import { type Db, schema, type Tx } from "./db/index.ts";
import type { JobKind } from "./engines.ts";
import { AppError, newId } from "./platform/index.ts";

/** The statement that a user agrees to before an outfit change; stored with the photo's hash. */
const adultConsent = "adult-who-agrees" as const;

/** The row of `consents` for the bytes of a photo; giving the consent again stores nothing. */
export function consentFor(storedSha256: string): { id: string; storedSha256: string; statement: string } {
  return { id: newId(), storedSha256, statement: adultConsent };
}

interface OwnPhoto {
  readonly ownerId: string;
  readonly storedSha256: string;
}

const ofPhoto = ({ ownerId, storedSha256 }: OwnPhoto) =>
  and(
    eq(schema.consents.ownerId, ownerId),
    eq(schema.consents.storedSha256, storedSha256),
    eq(schema.consents.statement, adultConsent),
  );

/** Whether the owner made the statement for the bytes of a photo; what others said of the same bytes does not count. */
export async function isConsentStored(db: Db, photo: OwnPhoto): Promise<boolean> {
  const [stored] = await db
    .select({ id: schema.consents.id })
    .from(schema.consents)
    .where(ofPhoto(photo))
    .limit(1);
  return stored !== undefined;
}

interface PhotoColumns {
  readonly ownerId: SQLWrapper;
  readonly storedSha256: SQLWrapper;
}

/** `isConsentStored` for the rows of a query with a join: without one, the names of columns lack their table. */
export function consentIsStored({ ownerId, storedSha256 }: PhotoColumns) {
  const { consents } = schema;
  return sql<boolean>`exists (select 1 from ${consents} where ${consents.ownerId} = ${ownerId}
    and ${consents.storedSha256} = ${storedSha256} and ${consents.statement} = ${adultConsent})`;
}

interface BatchPlace {
  readonly batchId: SQLWrapper;
  readonly position: SQLWrapper;
}

/**
 * Whether each photo has its statement on which outfit changes of a place of a batch began; false where it is gone. The results
 * that they hand on show the same person and have no statement of their own.
 */
export function consentOfPlace({ batchId, position }: BatchPlace) {
  const { batchJobs, batchSteps, images, jobInputs, jobOutputs, jobs } = schema;
  const isStated = consentIsStored({ ownerId: sql`p.owner_id`, storedSha256: sql`p.stored_sha256` });
  const here = sql`(select job_id from ${batchJobs} where batch_id = ${batchId} and position = ${position}
    union all select source_job_id from ${batchSteps} where batch_id = ${batchId} and position = ${position})`;
  return sql<boolean>`(select coalesce(bool_and(${isStated}), false)
    from ${jobInputs} i join ${images} p on p.id = i.image_id
    where i.role = 'person' and i.job_id in ${here} and not exists (
      select from ${jobOutputs} o join ${jobs} m on m.id = o.job_id and m.kind = 'outfit_change'
      where o.image_id = i.image_id and m.id in ${here}))`;
}

/** Forgets the statement about the bytes of a photo; a photo without one stays as it is. */
export async function forgetConsent(db: Pick<Db, "delete">, photo: OwnPhoto): Promise<void> {
  await db.delete(schema.consents).where(ofPhoto(photo));
}

interface MadeAnew {
  readonly ownerId: string;
  /** Hash of the file that was lost. */
  readonly from: string;
  readonly to: string;
}

/** Keeps the consents for a photo whose file was written again: they are stored by the hash of the file, which is another one then. */
export async function moveConsents(tx: Tx, { ownerId, from, to }: MadeAnew): Promise<void> {
  await tx.execute(sql`
    update consents set stored_sha256 = ${to}
    where owner_id = ${ownerId} and stored_sha256 = ${from}
      and not exists (
        select 1 from consents other where other.owner_id = ${ownerId}
          and other.stored_sha256 = ${to} and other.statement = consents.statement)`);
}

/** Throws `consent_required` where the params deny the statement, also for a photo that has one. */
export function refuseDenied(params: unknown): void {
  if (typeof params !== "object" || params === null || !("consent" in params)) return;
  if (params.consent !== true && params.consent !== undefined) throw new AppError("consent_required");
}

const vocabulary = "http://cv.iptc.org/newscodes/digitalsourcetype";

/** IPTC Digital Source Type of a result, by the kind of job that made it. */
export const digitalSourceTypes = {
  outfit_change: `${vocabulary}/compositeWithTrainedAlgorithmicMedia`,
  inpaint: `${vocabulary}/compositeWithTrainedAlgorithmicMedia`,
  upscale: `${vocabulary}/compositeWithTrainedAlgorithmicMedia`,
  // A cut-out shows the photo's own pixels: nothing in it was generated.
  remove_background: `${vocabulary}/algorithmicallyEnhanced`,
  edit: `${vocabulary}/compositeWithTrainedAlgorithmicMedia`,
  restore_faces: `${vocabulary}/compositeWithTrainedAlgorithmicMedia`,
  text_to_image: `${vocabulary}/trainedAlgorithmicMedia`,
  segment: `${vocabulary}/trainedAlgorithmicMedia`,
  // Of the results of other kinds; see `nothingGenerated`.
  adjust: `${vocabulary}/compositeWithTrainedAlgorithmicMedia`,
  crop: `${vocabulary}/compositeWithTrainedAlgorithmicMedia`,
  restore: `${vocabulary}/compositeWithTrainedAlgorithmicMedia`,
  expand: `${vocabulary}/compositeWithTrainedAlgorithmicMedia`,
} as const satisfies Record<JobKind, string>;

/** Of an upload that a person adjusted, cropped or restored. */
export const humanEdits = `${vocabulary}/humanEdits`;

/** The XMP packet with a result's origin, embedded in all of its files; null for one in which no AI had a part. */
export function provenanceXmp(kind: JobKind | null): string {
  return [
    '<?xpacket begin="\uFEFF" id="W5M0MpCehiHzreSzNTczkc9d"?>',
    '<x:xmpmeta xmlns:x="adobe:ns:meta/">',
    '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#">',
    '<rdf:Description rdf:about=""',
    ' xmlns:xmp="http://ns.adobe.com/xap/1.0/"',
    ' xmlns:Iptc4xmpExt="http://iptc.org/std/Iptc4xmpExt/2008-02-29/"',
    ' xmp:CreatorTool="Atelier"',
    ` Iptc4xmpExt:DigitalSourceType="${kind === null ? humanEdits : digitalSourceTypes[kind]}"/>`,
    "</rdf:RDF></x:xmpmeta>",
    '<?xpacket end="w"?>',
  ].join("\n");
}
