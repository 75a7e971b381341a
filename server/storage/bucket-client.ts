import { createHash } from "node:crypto";
import { S3Client } from "@aws-sdk/client-s3";
import type { Env } from "../platform/index.ts";

export type BucketEnv = Pick<
  Env,
  | "S3_ENDPOINT"
  | "S3_PUBLIC_ENDPOINT"
  | "S3_REGION"
  | "S3_ACCESS_KEY_ID"
  | "S3_SECRET_ACCESS_KEY"
  | "S3_DOWNLOADS"
> &
  Partial<Pick<Env, "S3_FORCE_PATH_STYLE">> & { readonly S3_BUCKET: string };

/** Until the connection stands, until the answer to a request without a body begins, and without a byte in either direction. */
const connectMs = 5_000;
const answerMs = 30_000;
const silenceMs = 120_000;
/** To send the body of a request: 16 MB at 55 kB a second. */
export const sendMs = 300_000;
const maxSockets = 1_000;
/** Of one call, by the client library; it waits between them and repeats only what is safe to repeat. */
const attemptsOfCall = 3;

interface ClientOptions {
  /** Another address of the same server, for links that are signed for others to use. */
  readonly endpoint?: string | undefined;
  /** From the request to the beginning of the answer; with a body that is the time to send it. */
  readonly requestMs?: number;
}

/** A client of the bucket's server. */
export function openClient(env: BucketEnv, options: ClientOptions = {}): S3Client {
  const { endpoint = env.S3_ENDPOINT, requestMs = answerMs } = options;
  const { S3_ACCESS_KEY_ID: accessKeyId = "", S3_SECRET_ACCESS_KEY: secretAccessKey = "" } = env;
  const { S3_FORCE_PATH_STYLE: isPathStyle = true } = env;
  const client = new S3Client({
    region: env.S3_REGION,
    ...(endpoint === undefined ? {} : { endpoint }),
    // With the name of the bucket in the path there is no DNS entry per bucket.
    forcePathStyle: isPathStyle,
    credentials: { accessKeyId, secretAccessKey },
    maxAttempts: attemptsOfCall,
    // The newer checksums come in a chunked encoding that R2 and others do not all read; `put` compares hashes itself.
    requestChecksumCalculation: "WHEN_REQUIRED",
    responseChecksumValidation: "WHEN_REQUIRED",
    requestHandler: {
      connectionTimeout: connectMs,
      requestTimeout: requestMs,
      throwOnRequestTimeout: true,
      socketTimeout: silenceMs,
      // A picture that is served to a slow reader holds one; without a free one a call fails after `connectMs`.
      httpAgent: { maxSockets },
      httpsAgent: { maxSockets },
    },
  });
  sumBodies(client);
  tellFaults(client, { isPathStyle, texts: [accessKeyId, secretAccessKey] });
  return client;
}

/** How stores say that they take no body without its sum: those of buckets that lock their objects. */
const wantsSum = /Content-MD5/i;

/** Sends a body that was refused for want of its sum again with it, and from then on each with its own. */
function sumBodies(client: S3Client): void {
  let isWanted = false;
  client.middlewareStack.add(
    (next) => async (args) => {
      const body: unknown = Reflect.get(args.input, "Body");
      if (!(body instanceof Uint8Array)) return next(args);
      const withSum = () => {
        const input = { ...args.input, ContentMD5: createHash("md5").update(body).digest("base64") };
        return next({ ...args, input });
      };
      if (isWanted) return withSum();
      try {
        return await next(args);
      } catch (error) {
        if (!(error instanceof Error) || !wantsSum.test(error.message)) throw error;
        isWanted = true;
        return withSum();
      }
    },
    { step: "initialize", name: "sumBodies" },
  );
}

/** What to change, by the code of an S3 server. */
const advice: Readonly<Record<string, string>> = {
  NoSuchBucket: "create the bucket, or correct S3_BUCKET",
  InvalidAccessKeyId: "correct S3_ACCESS_KEY_ID",
  SignatureDoesNotMatch:
    "correct S3_SECRET_ACCESS_KEY; a proxy before the store must leave Host and path as they are",
  AccessDenied: "give the key the rights to list, read, write and delete in the bucket",
  AuthorizationHeaderMalformed: "set S3_REGION to the region that the store names",
  PermanentRedirect: "set S3_REGION and S3_ENDPOINT to those of the bucket",
  TemporaryRedirect: "set S3_REGION and S3_ENDPOINT to those of the bucket",
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

export const noAnswerOfStore = "the answer is not one of an S3 server";

/** Puts the server's own code and words, with what to change, into the message of each error of a client. */
function tellFaults(client: S3Client, secrets: Secrets): void {
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
  if ("$response" in error) return `${noAnswerOfStore}${http}; correct S3_ENDPOINT`;
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
