import type { Tx } from "../db/index.ts";
import type { InputRole } from "../engines.ts";
import { discardStaged, insertStaged, type StagedUpload, stageUpload } from "../images/index.ts";
import { newId } from "../platform/index.ts";
import type { Services } from "../services.ts";
import type { Submitter } from "./draft.ts";
import { submit, type Submitted } from "./submit.ts";

/** A picture that comes with the request: its bytes, or a local file that the caller removes. */
interface SentPicture {
  readonly role: InputRole;
  readonly bytes: Buffer | string;
  readonly name?: string | undefined;
}

interface PicturesInput {
  /** A request without `inputs`. */
  readonly request: Readonly<Record<string, unknown>>;
  readonly pictures: readonly SentPicture[];
  readonly submitter: Submitter;
  readonly signal: AbortSignal;
}

/**
 * Takes in pictures and submits a job with them in one transaction, so that a failure leaves no picture and no job. The
 * pictures belong to this job alone, whatever the owner uploaded before. Throws what `ingest` and `submit` throw.
 */
export async function submitWithPictures(services: Services, input: PicturesInput): Promise<Submitted> {
  const staged: StagedUpload[] = [];
  const inputs: Record<string, string> = {};
  const apart = newId();
  try {
    for (const picture of input.pictures) {
      const row = await stagePicture(services, input, { picture, apart: `${picture.role} of ${apart}` });
      staged.push(row);
      inputs[picture.role] = row.id;
    }
    input.signal.throwIfAborted();
    return await submit(
      services,
      { ...input.request, inputs },
      {
        submitter: input.submitter,
        newInputs: { images: staged, insert: (tx) => insertAll(tx, services, staged) },
      },
    );
  } catch (error) {
    for (const row of staged) await discardStaged(services, row);
    throw error;
  }
}

async function insertAll(tx: Tx, { config }: Services, staged: readonly StagedUpload[]): Promise<void> {
  for (const row of staged) await insertStaged(tx, config, row);
}

function stagePicture(
  services: Services,
  { submitter, signal }: PicturesInput,
  { picture, apart }: { readonly picture: SentPicture; readonly apart: string },
): Promise<StagedUpload> {
  const { role, bytes, name } = picture;
  const ownerId = submitter.userId;
  return stageUpload(services, {
    ownerId,
    role: role === "mask" ? "mask" : "upload",
    bytes,
    name,
    apart,
    signal,
  });
}
