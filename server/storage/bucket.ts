import { createHash } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import {
  AbortMultipartUploadCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  HeadObjectCommand,
  ListMultipartUploadsCommand,
  type MultipartUpload,
  ListObjectsV2Command,
  type ListObjectsV2CommandInput,
  PutObjectCommand,
  type S3Client,
} from "@aws-sdk/client-s3";
import { Upload } from "@aws-sdk/lib-storage";
import { getSignedUrl } from "@aws-sdk/s3-request-presigner";
import { S3Driver } from "flydrive/drivers/s3";
import type { WriteOptions } from "flydrive/types";
import type { Readable } from "node:stream";
import { backoffMs } from "../platform/index.ts";
import { type BucketEnv, isS3Error, noAnswerOfStore, openClient, sendMs, statusOf } from "./bucket-client.ts";
import { hashOf, signedGetMs, signedPutMs } from "./driver.ts";
import type {
  AnnouncedObject,
  FoundObject,
  LinkedObject,
  ListedPage,
  OpenObject,
  SignedPut,
  StoreDriver,
} from "./driver.ts";

/** Larger objects are sent in parts, so that a lost connection costs one part. */
const partBytes = 16 * 1024 ** 2;
/** Of writing and reading back. */
const putTries = 3;
const putRestMs = 500;
/** How long reading back may take: a minute, and 50 kB a second. */
const readBackMs = (sizeBytes: number) => 60_000 + Math.ceil(sizeBytes / 50);

/** Within it a link to an object stays the same. */
const sameLinkMs = signedGetMs / 3;

const checksumHeader = "x-amz-checksum-sha256";

/** A private bucket of an S3-compatible server. */
export class BucketDriver extends S3Driver implements StoreDriver {
  readonly #client: S3Client;
  /** For requests with a body. */
  readonly #sendClient: S3Client;
  /** Signs for browsers, which may reach the server under another address. */
  readonly #publicClient: S3Client;
  readonly #bucket: string;
  readonly #givesLinks: boolean;

  constructor(env: BucketEnv) {
    const client = openClient(env);
    // Access lists of single objects are not supported by R2; the bucket itself is private.
    super({ client, bucket: env.S3_BUCKET, visibility: "private", supportsACL: false });
    this.#client = client;
    this.#sendClient = openClient(env, { requestMs: sendMs });
    this.#publicClient = openClient(env, { endpoint: env.S3_PUBLIC_ENDPOINT });
    this.#bucket = env.S3_BUCKET;
    this.#givesLinks = env.S3_DOWNLOADS === "link";
  }

  /**
   * Writes an object and reads it back: servers have accepted objects that were gone or cut afterwards. A write that cannot
   * be read back is done again under the same key.
   */
  override async put(key: string, contents: string | Uint8Array, options: WriteOptions = {}): Promise<void> {
    const bytes = typeof contents === "string" ? Buffer.from(contents) : contents;
    for (let tries = 1; ; tries += 1) {
      await this.#send(key, bytes, options.contentType);
      if (await this.#isStored(key, bytes)) return;
      if (tries === putTries) throw new Error(`the bucket does not return what was written to ${key}`);
      await sleep(backoffMs(tries, { firstMs: putRestMs }));
    }
  }

  async #send(key: string, bytes: Uint8Array, mime: string | undefined): Promise<void> {
    const object = { Bucket: this.#bucket, Key: key, Body: bytes, ContentType: mime };
    if (bytes.length <= partBytes) await this.#sendClient.send(new PutObjectCommand(object));
    else
      await new Upload({
        client: this.#sendClient,
        params: object,
        partSize: partBytes,
        queueSize: 2,
      }).done();
  }

  async #isStored(key: string, bytes: Uint8Array): Promise<boolean> {
    const found = await this.open(key).catch((error: unknown) => {
      // Listed and not given out yet.
      if (statusOf(error) === 404 && !isS3Error(error, "NoSuchBucket")) return null;
      throw error;
    });
    if (found?.sizeBytes !== bytes.length) {
      found?.stream.destroy();
      return false;
    }
    const hash = await hashOf(found.stream, AbortSignal.timeout(readBackMs(bytes.length)));
    return hash === createHash("sha256").update(bytes).digest("hex");
  }

  async open(key: string): Promise<OpenObject | null> {
    try {
      const answer = await this.#client.send(new GetObjectCommand({ Bucket: this.#bucket, Key: key }));
      // In Node the body is always a stream of Node.
      const stream = answer.Body as Readable;
      try {
        return { stream, sizeBytes: answer.ContentLength ?? (await this.#sizeOf(key)) };
      } catch (error) {
        stream.destroy();
        throw error;
      }
    } catch (error) {
      if (isS3Error(error, "NoSuchKey")) return null;
      return this.#absent(key, error);
    }
  }

  async find(key: string): Promise<FoundObject | null> {
    const object = { Bucket: this.#bucket, Key: key };
    try {
      const { ContentLength, LastModified } = await this.#client.send(new HeadObjectCommand(object));
      const sizeBytes = ContentLength ?? (await this.#sizeOf(key));
      return { sizeBytes, modifiedAt: LastModified ?? new Date() };
    } catch (error) {
      return this.#absent(key, error);
    }
  }

  /**
   * Null for a 404 without the store's own code, as HEAD and some proxies have it, of an object that the store does not list,
   * or lists although it says itself that it is gone: lists may be behind. Throws every other error.
   */
  async #absent(key: string, error: unknown): Promise<null> {
    if (statusOf(error) !== 404 || isS3Error(error, "NoSuchBucket")) throw error;
    // A missing bucket looks like a missing object there; listing tells them apart, and what is no store, or hides an object.
    if ((await this.#listed(key)) && !(await this.#isGone(key))) throw error;
    return null;
  }

  /** Whether the store itself says that an object is not there. */
  async #isGone(key: string): Promise<boolean> {
    try {
      const { Body } = await this.#openFirstByte(key);
      (Body as Readable).destroy();
      return false;
    } catch (error) {
      return isS3Error(error, "NoSuchKey");
    }
  }

  /** Asks for the first byte of an object; the answer has its size in another place than in its length. */
  #openFirstByte(key: string) {
    return this.#client.send(new GetObjectCommand({ Bucket: this.#bucket, Key: key, Range: "bytes=0-0" }));
  }

  /** The size of an object where a proxy leaves out the length of answers. The list is asked last, since it may be behind. */
  async #sizeOf(key: string): Promise<number> {
    const { Body, ContentRange = "" } = await this.#openFirstByte(key);
    (Body as Readable).destroy();
    const total = /\/(\d+)$/.exec(ContentRange)?.[1];
    const sizeBytes = total === undefined ? (await this.#listed(key))?.sizeBytes : Number(total);
    if (sizeBytes === undefined) throw new Error(`the bucket does not return the size of ${key}`);
    return sizeBytes;
  }

  /** An object by the list of the store. */
  async #listed(key: string): Promise<FoundObject | null> {
    const { Contents = [] } = await this.#list({ Prefix: key, MaxKeys: 1 });
    const found = Contents.find((each) => each.Key === key);
    return found ? { sizeBytes: found.Size ?? 0, modifiedAt: found.LastModified ?? new Date() } : null;
  }

  /** An answer that is no list would be an empty one, and objects that are there would count as absent. */
  async #list(part: Pick<ListObjectsV2CommandInput, "Prefix" | "MaxKeys" | "ContinuationToken">) {
    const page = await this.#client.send(new ListObjectsV2Command({ Bucket: this.#bucket, ...part }));
    const { $metadata: _, ...fields } = page;
    if (Object.values(fields).every((field) => field === undefined))
      throw new Error(`${noAnswerOfStore}; correct S3_ENDPOINT`);
    return page;
  }

  async listPage(prefix: string, token?: string): Promise<ListedPage> {
    const page = await this.#list({ Prefix: `${prefix}/`, ContinuationToken: token });
    const objects = (page.Contents ?? []).map(({ Key = "", Size = 0, LastModified = new Date() }) => ({
      key: Key,
      readMetaData: async () => ({ sizeBytes: Size, modifiedAt: LastModified }),
    }));
    // Some stores name the next part behind the last one, and others do not name it at all.
    if (page.IsTruncated !== true) return { objects };
    if (page.NextContinuationToken === undefined || page.NextContinuationToken === token)
      throw new Error("the bucket cuts its list off and does not say where the rest begins");
    return { objects, next: page.NextContinuationToken };
  }

  /** Objects are durable when the server has accepted them. */
  async flush(): Promise<void> {}

  /** One request per object: not every server has the request for many. */
  async removeBelow(prefix: string): Promise<void> {
    let token: string | undefined;
    do {
      const { objects, next } = await this.listPage(prefix, token);
      for (const { key } of objects)
        await this.#client.send(new DeleteObjectCommand({ Bucket: this.#bucket, Key: key }));
      token = next;
    } while (token !== undefined);
  }

  /** Ends what was begun in parts, and by a process that is gone: its parts are kept, and paid, and in no list of objects. */
  async endUploads(prefix: string, begunBefore: Date): Promise<number> {
    let ended = 0;
    let from: { readonly KeyMarker?: string | undefined; readonly UploadIdMarker?: string | undefined } = {};
    for (;;) {
      const listed = { Bucket: this.#bucket, Prefix: `${prefix}/`, ...from };
      const page = await this.#client.send(new ListMultipartUploadsCommand(listed));
      for (const { Key, UploadId, Initiated } of page.Uploads ?? []) {
        if (!Initiated || Initiated >= begunBefore) continue;
        if (await this.#endUpload({ Key, UploadId })) ended += 1;
      }
      from = { KeyMarker: page.NextKeyMarker, UploadIdMarker: page.NextUploadIdMarker };
      if (page.IsTruncated !== true || page.NextKeyMarker === undefined) return ended;
    }
  }

  /** Whether it was there: its own process may have ended it since it was listed. */
  async #endUpload(upload: Pick<MultipartUpload, "Key" | "UploadId">): Promise<boolean> {
    const of = { Bucket: this.#bucket, Key: upload.Key, UploadId: upload.UploadId };
    try {
      await this.#client.send(new AbortMultipartUploadCommand(of));
      return true;
    } catch (error) {
      if (statusOf(error) !== 404 || isS3Error(error, "NoSuchBucket")) throw error;
      return false;
    }
  }

  /** By the store's clock, as far as its answers have told it: this machine's may be off by more than a link is valid. */
  #storeMs(): number {
    return Date.now() + this.#client.config.systemClockOffset;
  }

  /** Length and type are signed, so that the server refuses any other body. */
  async signPut(key: string, { mime, sizeBytes, sha256 }: AnnouncedObject): Promise<SignedPut> {
    const checksum = sha256 === null ? {} : { ChecksumSHA256: Buffer.from(sha256, "hex").toString("base64") };
    const object = {
      Bucket: this.#bucket,
      Key: key,
      ContentType: mime,
      ContentLength: sizeBytes,
      ...checksum,
    };
    const url = await getSignedUrl(this.#publicClient, new PutObjectCommand(object), {
      expiresIn: signedPutMs / 1_000,
      signingDate: new Date(this.#storeMs()),
      signableHeaders: new Set(["host", "content-type", "content-length", checksumHeader]),
      unhoistableHeaders: new Set([checksumHeader]),
    });
    const hash = checksum.ChecksumSHA256;
    return { url, headers: { "content-type": mime, ...(hash ? { [checksumHeader]: hash } : {}) } };
  }

  /** Signed as of the last full five minutes: until the next ones the address is the same, so that browsers keep the picture. */
  async signGet(key: string, { mime, disposition }: LinkedObject): Promise<string | null> {
    if (!this.#givesLinks) return null;
    const object = {
      Bucket: this.#bucket,
      Key: key,
      ResponseContentType: mime,
      ResponseContentDisposition: disposition,
      ResponseCacheControl: `private, max-age=${signedGetMs / 1_000}, immutable`,
    };
    const signingDate = new Date(Math.floor(this.#storeMs() / sameLinkMs) * sameLinkMs);
    const options = { expiresIn: signedGetMs / 1_000, signingDate };
    return getSignedUrl(this.#publicClient, new GetObjectCommand(object), options);
  }

  close(): void {
    this.#publicClient.destroy();
    this.#sendClient.destroy();
    this.#client.destroy();
  }
}
