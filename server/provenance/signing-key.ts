import { readFile } from "node:fs/promises";
import { eq } from "drizzle-orm";
import { type Db, schema } from "../db/index.ts";
import { AppError, type Env, keptBy, openSealed, seal, sealedHead } from "../platform/index.ts";
import type { Services } from "../services.ts";
import type { SigningPair, StudioSigner } from "./certificate.ts";

const { signingKeys } = schema;

const purpose = "signing keys";
type KeyEnv = Pick<Env, "AUTH_SECRET" | "SIGNING_KEY" | "SIGNING_CERTIFICATES">;
type Keeping = Pick<Services, "db" | "env">;

const keptSigner = keptBy((_db: Db) => ({ signer: null as Promise<StudioSigner | null> | null }));

/**
 * What signs the pictures of this studio: the operator's key, else one that the studio makes at the first need. Null for a
 * process without `AUTH_SECRET`, which cannot read that key. Throws `bad_request` when the operator's cannot sign.
 */
export async function findSigner({ db, env }: Keeping): Promise<StudioSigner | null> {
  const kept = keptSigner(db);
  const known = kept.signer;
  const hasEnded = ((await known)?.validUntil ?? endless) < new Date();
  // Read anew, since the operator may have renewed the files; one that ended is refused then.
  if (hasEnded && kept.signer === known) kept.signer = null;
  kept.signer ??= loadSigner({ db, env }).catch((error: unknown) => {
    kept.signer = null;
    throw error;
  });
  return kept.signer;
}

const endless = new Date(8.64e15);

async function loadSigner({ db, env }: Keeping): Promise<StudioSigner | null> {
  const given = await readGivenSigner(env);
  if (given) {
    const { fingerprint, certificates } = given;
    await db.insert(signingKeys).values({ fingerprint, certificates }).onConflictDoNothing();
    return given;
  }
  const { readSigner } = await import("./certificate.ts");
  const sealedBy = sealedHead(env, purpose);
  return sealedBy === null ? null : readSigner(await readOwnPair({ db, env }, sealedBy));
}

/** The operator's signer; null when the studio's own key is used. Throws `bad_request` with the reason when it cannot sign. */
export async function readGivenSigner(env: KeyEnv): Promise<StudioSigner | null> {
  const given = await readGivenPair(env);
  if (!given) return null;
  const { readSigner, requireInTime } = await import("./certificate.ts");
  const signer = await readSigner(given);
  requireInTime(signer);
  return signer;
}

/** The smallest PNG: one pixel. */
const onePixel =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg==";

/** Signs a picture of one pixel, which is not kept, and reads it again: whether its statement is by this signer and holds. */
export async function trySigner(signer: StudioSigner): Promise<boolean> {
  const [{ signPicture }, { readStatement }] = await Promise.all([import("./sign.ts"), import("./read.ts")]);
  const story = {
    instanceId: "xmp:iid:check",
    mime: "image/png",
    madeAt: new Date(),
    ingredients: [],
    steps: [{ action: "c2pa.created" }],
  };
  const read = await readStatement(await signPicture(Buffer.from(onePixel, "base64"), story, signer));
  return read?.state === "valid" && read.fingerprint === signer.fingerprint;
}

/** The studio's own key as it is stored. */
export interface StoredSigner {
  readonly fingerprint: string;
  readonly certificates: string;
  readonly sealedKey: string | null;
}

/**
 * The studio's own signer, from the row that `find` reads for this process's secret; makes none. Null where there is no secret, where the
 * operator's key is used, and before the first signature. Throws `internal` when it cannot be opened.
 */
export async function readOwnSigner(
  env: KeyEnv,
  find: (sealedBy: string) => Promise<StoredSigner | null>,
): Promise<StudioSigner | null> {
  const sealedBy = env.SIGNING_KEY === undefined ? sealedHead(env, purpose) : null;
  const row = sealedBy === null ? null : await find(sealedBy);
  if (row === null) return null;
  const { readSigner } = await import("./certificate.ts");
  return readSigner(openPair(env, row));
}

/** The operator's key and certificates; null when there are none. Throws `bad_request` when a file cannot be read. */
async function readGivenPair(env: KeyEnv): Promise<SigningPair | null> {
  const { SIGNING_KEY: key, SIGNING_CERTIFICATES: certificates } = env;
  if (key === undefined || certificates === undefined) return null;
  return {
    key: await textOf("SIGNING_KEY", key),
    certificates: await textOf("SIGNING_CERTIFICATES", certificates),
  };
}

async function textOf(name: string, value: string): Promise<string> {
  // A file of the environment has one line for a value.
  if (value.startsWith("-----BEGIN")) return value.replaceAll(String.raw`\n`, "\n");
  try {
    return await readFile(/* turbopackIgnore: true */ value, "utf8");
  } catch (cause) {
    throw new AppError("bad_request", `${name} is no PEM, and no file that can be read.`, { cause });
  }
}

/** The key that the studio made under this secret. Made now if there is none: of several processes the first row counts. */
async function readOwnPair({ db, env }: Keeping, sealedBy: string): Promise<SigningPair> {
  const known = await findOwn(db, sealedBy);
  if (!known) {
    const { makeSigningPair, readSigner } = await import("./certificate.ts");
    const made = await makeSigningPair();
    const { fingerprint, certificates } = await readSigner(made);
    const sealedKey = seal(env, sealedFor(fingerprint), made.key);
    await db
      .insert(signingKeys)
      .values({ fingerprint, certificates, sealedKey, sealedBy })
      .onConflictDoNothing();
  }
  const row = known ?? (await findOwn(db, sealedBy));
  if (!row) throw new AppError("internal", "The studio's signing key was not stored.");
  return openPair(env, row);
}

function openPair(env: KeyEnv, { fingerprint, certificates, sealedKey }: StoredSigner): SigningPair {
  const key = openSealed(env, sealedFor(fingerprint), sealedKey ?? "");
  if (key === null) throw new AppError("internal", "The studio's signing key cannot be opened.");
  return { certificates, key };
}

const sealedFor = (fingerprint: string) => ({ purpose, context: `signing_keys/${fingerprint}` });

async function findOwn(db: Db, sealedBy: string) {
  const [row] = await db.select().from(signingKeys).where(eq(signingKeys.sealedBy, sealedBy));
  return row ?? null;
}
