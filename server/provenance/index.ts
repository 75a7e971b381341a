/**
 * Provenance: what a picture says about how it was made, so that others can check it.
 *
 * - manifest: a signed statement in a file by the standard C2PA: what made the picture, when, of which pictures. A file holds
 *   its own (the active one) and those of its ingredients.
 * - ingredient: a picture that another was made of. Its manifests are kept as they came, never removed.
 * - signer: the key of the studio, or one that its operator brings; `signing-key.ts`.
 *
 *     result, or upload that has a manifest ──▶ story (origin) ──▶ signPicture ──▶ hash, store
 *     another format, settings in the file  ──▶ a new manifest with the stored file as its ingredient
 *
 * A manifest names pictures by id and hash, and no person and no prompt. Reading foreign manifests must never stop an upload:
 * what cannot be read counts as none. The library is loaded at the first need; it costs half a second and 30 MB.
 */
import type { Services } from "../services.ts";
import { instanceIdOf, type MadePicture, tellOrigin } from "./origin.ts";
import { findSigner } from "./signing-key.ts";
import type { Story } from "./sign.ts";

type Signing = Pick<Services, "db" | "env" | "log">;

/** The file of a result with its manifest; as it was, with a line in the log, where nothing can sign. */
export async function signResult<Bytes extends Buffer>(
  services: Signing & Pick<Services, "disk">,
  bytes: Bytes,
  made: MadePicture,
): Promise<Bytes | Buffer<ArrayBuffer>> {
  return signOrLeave(services, bytes, {
    picture: instanceIdOf(made.id),
    tell: () => tellOrigin(services, made),
  });
}

/** A file that is made of another one without a change of what it shows. */
interface Copy {
  /** Names the copy; see `instanceIdOf`. */
  readonly instanceId: string;
  readonly mime: string;
  /** What was done, in words of C2PA. */
  readonly action: "c2pa.transcoded" | "c2pa.edited.metadata";
  readonly source: {
    readonly bytes: Buffer;
    readonly mime: string;
    readonly instanceId: string;
    readonly sha256: string;
  };
}

/** A copy with a manifest of its own when its source has one, which is kept in it; else the copy as it is. */
export async function signCopy<Bytes extends Buffer>(
  services: Signing,
  bytes: Bytes,
  copy: Copy,
): Promise<Bytes | Buffer<ArrayBuffer>> {
  if (!mayHaveManifest(copy.source.bytes)) return bytes;
  const tell = async (): Promise<Story | null> => {
    const { hasManifest } = await import("./sign.ts");
    if (!hasManifest(copy.source.bytes)) return null;
    return {
      instanceId: copy.instanceId,
      mime: copy.mime,
      madeAt: new Date(),
      ingredients: [{ relationship: "parentOf", ...copy.source }],
      steps: [
        { action: "c2pa.opened", of: [0] },
        { action: copy.action, of: [0] },
      ],
    };
  };
  return signOrLeave(services, bytes, { picture: copy.instanceId, tell });
}

/** A quick look, since most files have none. */
const mayHaveManifest = (bytes: Buffer) => bytes.includes("jumb");

interface Telling {
  /** As manifests name it. */
  readonly picture: string;
  /** Null where there is nothing to say. */
  readonly tell: () => Promise<Story | null>;
}

/** A picture that was made, and maybe paid for, is worth more than its manifest: whatever fails here leaves it as it is. */
async function signOrLeave<Bytes extends Buffer>(
  { db, env, log }: Signing,
  bytes: Bytes,
  { picture, tell }: Telling,
): Promise<Bytes | Buffer<ArrayBuffer>> {
  try {
    const signer = await findSigner({ db, env });
    if (!signer) {
      log.warn("AUTH_SECRET is not set here: what AI makes has no manifest");
      return bytes;
    }
    const story = await tell();
    if (!story) return bytes;
    const { signPicture } = await import("./sign.ts");
    return await signPicture(bytes, story, signer);
  } catch (error) {
    if (error instanceof Error && error.name === "AbortError") throw error;
    log.error({ err: error, picture }, "a picture has no manifest: it could not be signed");
    return bytes;
  }
}

export { instanceIdOf, markOf, type MadePicture } from "./origin.ts";
export { identify } from "./identify.ts";
export { readGivenSigner, readOwnSigner, type StoredSigner, trySigner } from "./signing-key.ts";
