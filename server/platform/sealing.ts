import { createCipheriv, createDecipheriv, createHash, hkdfSync, randomBytes } from "node:crypto";
import { AppError } from "./errors.ts";
import type { Env } from "./env.ts";

/** SHA-256 of a token or a code, in hex. Only this is stored, so that whoever reads the table cannot use it. */
export function hashOfToken(token: string): string {
  return createHash("sha256").update(token).digest("hex");
}

/** Before sealed secrets in their columns. */
export const sealedMark = "sealed:";
const version = 1;
const keyBytes = 32;
const keyIdBytes = 5;
const nonceBytes = 12;
const tagBytes = 16;
const headBytes = 1 + keyIdBytes;
const cipher = "aes-256-gcm";

type SecretEnv = Pick<Env, "AUTH_SECRET">;

/** What is sealed, and for which row: a sealed secret that was copied into another row cannot be read there. */
interface SealedFor {
  /** One kind of secret has one key. */
  readonly purpose: string;
  readonly context: string;
}

interface SealingKey {
  readonly key: Buffer;
  /** The first bytes of each sealed secret: version and name of the key. It tells nothing of the key. */
  readonly head: Buffer;
}

/** The key of this studio for one kind of secret, from `AUTH_SECRET`; null for a process without it. */
function sealingKey({ AUTH_SECRET: secret }: SecretEnv, purpose: string): SealingKey | null {
  if (secret === undefined) return null;
  const derived = hkdfSync("sha256", secret, "", `atelier ${purpose} ${version}`, keyBytes + keyIdBytes);
  const bytes = Buffer.from(derived);
  return {
    key: bytes.subarray(0, keyBytes),
    head: Buffer.concat([Buffer.of(version), bytes.subarray(keyBytes)]),
  };
}

/** The beginning of all that this process seals for a purpose, as text; null for a process without `AUTH_SECRET`. */
export function sealedHead(env: SecretEnv, purpose: string): string | null {
  // Six bytes are eight characters of base64, so the text of the head is the beginning of the whole text.
  const sealing = sealingKey(env, purpose);
  return sealing && sealedMark + sealing.head.toString("base64url");
}

/** Encrypts a secret for its row (AES-256-GCM). Throws `internal` without `AUTH_SECRET`. */
export function seal(env: SecretEnv, { purpose, context }: SealedFor, secret: string): string {
  const sealing = sealingKey(env, purpose);
  if (!sealing) throw new AppError("internal", "AUTH_SECRET is not set.");
  const nonce = randomBytes(nonceBytes);
  const sealer = createCipheriv(cipher, sealing.key, nonce, { authTagLength: tagBytes });
  sealer.setAAD(Buffer.from(context));
  const sealed = Buffer.concat([sealer.update(secret, "utf8"), sealer.final()]);
  const bytes = Buffer.concat([sealing.head, nonce, sealer.getAuthTag(), sealed]);
  return `${sealedMark}${bytes.toString("base64url")}`;
}

/** The secret of a row; null when it was sealed with another `AUTH_SECRET`, for another row, or was changed since. */
export function openSealed(env: SecretEnv, { purpose, context }: SealedFor, stored: string): string | null {
  const bytes = Buffer.from(stored.slice(sealedMark.length), "base64url");
  const sealing = sealingKey(env, purpose);
  if (!sealing || bytes.length < headBytes + nonceBytes + tagBytes) return null;
  if (!bytes.subarray(0, headBytes).equals(sealing.head)) return null;
  const [nonceEnd, tagEnd] = [headBytes + nonceBytes, headBytes + nonceBytes + tagBytes];
  const nonce = bytes.subarray(headBytes, nonceEnd);
  const opener = createDecipheriv(cipher, sealing.key, nonce, { authTagLength: tagBytes });
  opener.setAAD(Buffer.from(context)).setAuthTag(bytes.subarray(nonceEnd, tagEnd));
  try {
    return Buffer.concat([opener.update(bytes.subarray(tagEnd)), opener.final()]).toString("utf8");
  } catch {
    return null;
  }
}
