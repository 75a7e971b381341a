import type { S3Client } from "@aws-sdk/client-s3";

/** What to change, by the code of an S3 server. */
const advice: Readonly<Record<string, string>> = {
  NoSuchBucket: "create the bucket, or correct S3_BUCKET",
  InvalidAccessKeyId: "correct S3_ACCESS_KEY_ID",
  SignatureDoesNotMatch:
    "correct S3_SECRET_ACCESS_KEY; a proxy before the store must leave Host and path as they are",
  AccessDenied: "give the key the rights to list, read, write and delete in the bucket",
  AuthorizationHeaderMalformed: "set S3_REGION to the region that the store names",
  PermanentRedirect: "set S3_REGION and S3_ENDPOINT to those of the bucket",
  IllegalLocationConstraintException: "set S3_REGION to the region of the bucket",
  RequestTimeTooSkewed: "set the clock of this machine, or of the store",
  InvalidBucketName: "correct S3_BUCKET",
  QuotaExceeded: "make room in the store",
  XMinioStorageFull: "make room in the store",
};

const maxWords = 300;

interface Secrets {
  readonly isPathStyle: boolean;
  readonly texts: readonly string[];
}

/** Puts the server's own code and words, with what to change, into the message of each error of a client. */
export function tellFaults(client: S3Client, secrets: Secrets): void {
  client.middlewareStack.add(
    (next) => async (args) => {
      try {
        return await next(args);
      } catch (error) {
        if (error instanceof Error) error.message = wordsOf(error, secrets);
        throw error;
      }
    },
    { step: "initialize", name: "tellFaults" },
  );
}

function wordsOf(error: Error, { isPathStyle, texts }: Secrets): string {
  const status: unknown = Object(Reflect.get(error, "$metadata")).httpStatusCode;
  const http = typeof status === "number" ? ` (HTTP ${status})` : "";
  // Both marks are the client library's, which is loaded late.
  if ("$fault" in error) {
    const { name, message } = error;
    const words = message === "" || message === "UnknownError" ? name : `${name}: ${message}`;
    const what = advice[name];
    return `${clean(words, texts)}${http}${what === undefined ? "" : `; ${what}`}`;
  }
  if ("$response" in error) return `the answer is not one of an S3 server${http}; correct S3_ENDPOINT`;
  if ("code" in error && /^(ENOTFOUND|EAI_AGAIN)$/.test(String(error.code)) && !isPathStyle)
    return `${error.message}; a store without a name in DNS for each bucket needs S3_FORCE_PATH_STYLE=true`;
  return error.message;
}

function clean(words: string, secrets: readonly string[]): string {
  const line = words.replaceAll(/\s+/g, " ");
  const safe = secrets.filter(Boolean).reduce((text, secret) => text.replaceAll(secret, "***"), line);
  return safe.slice(0, maxWords);
}

/** Why the image store failed, in its own words: the message at the root of an error of this folder. */
export function reasonOfStore(error: unknown): string {
  let root = error;
  while (root instanceof Error && root.cause !== undefined) root = root.cause;
  return root instanceof Error ? root.message || root.name : String(root);
}

/** The HTTP status of an error of the client library; undefined without an answer. */
export function statusOf(error: unknown): unknown {
  return Object(Object(error).$metadata).httpStatusCode ?? Object(Object(error).$response).statusCode;
}

/** Whether it is the store's own error of this name. */
export function isS3Error(error: unknown, name: string): boolean {
  return error instanceof Error && "$fault" in error && error.name === name;
}
