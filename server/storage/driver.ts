import { createHash } from "node:crypto";
import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { Disk } from "flydrive";
import type { DriverContract } from "flydrive/types";

/** An object that is being read. Whoever does not read `stream` to its end destroys it. */
export interface OpenObject {
  readonly stream: Readable;
  readonly sizeBytes: number;
}

/** SHA-256 of the rest of a stream, in lower-case hex. Destroys the stream when the signal aborts. */
export async function hashOf(stream: Readable, signal?: AbortSignal): Promise<string> {
  const hash = createHash("sha256");
  await pipeline(stream, hash, { signal });
  return hash.digest("hex");
}

export interface FoundObject {
  readonly sizeBytes: number;
  readonly modifiedAt: Date;
}

export interface ListedObject {
  readonly key: string;
  /** Size and age: part of the list of a bucket, asked for with local files. Null when it is gone meanwhile. */
  readonly readMetaData: () => Promise<FoundObject | null>;
}

/** A part of a list; with `next`, when there is one, the following part is asked for. */
export interface ListedPage {
  readonly objects: ListedObject[];
  readonly next?: string | undefined;
}

/** The announced file of an upload that goes to the store directly. */
export interface AnnouncedObject {
  readonly mime: string;
  readonly sizeBytes: number;
  /** Lower-case hex. */
  readonly sha256: string | null;
}

/** How long a signed address for a PUT is valid: long enough to send 25 MB at 30 kB a second. */
export const signedPutMs = 15 * 60_000;

/** An address that takes one object by PUT, with these headers and no other body than the announced one. */
export interface SignedPut {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** The answer to a request by a signed address. */
export interface LinkedObject {
  readonly mime: string;
  /** Value of Content-Disposition. */
  readonly disposition: string;
}

/** How long a signed address for a GET is valid at most; at least two thirds of it, as each is given out for a while. */
export const signedGetMs = 15 * 60_000;

/** What a store adds to a driver of flydrive. All of them throw the errors of the file system or of the bucket. */
export interface StoreDriver extends DriverContract {
  /** Opens an object by one request; null when it is not there. */
  open(key: string): Promise<OpenObject | null>;
  /** Size and age of an object; null when it is not there. */
  find(key: string): Promise<FoundObject | null>;
  /** Some of the objects below `prefix/`. */
  listPage(prefix: string, token?: string): Promise<ListedPage>;
  /** After several `put`: makes sure that their names outlive a power cut. */
  flush(keys: readonly string[]): Promise<void>;
  /** Removes every object below `prefix/`. Nothing there is no error. */
  removeBelow(prefix: string): Promise<void>;
  /** Ends uploads of objects below `prefix/` that were begun before a time and not ended; returns how many. */
  endUploads(prefix: string, begunBefore: Date): Promise<number>;
  /** Signs an address for a PUT, valid for `signedPutMs`; null when clients cannot reach the store directly. */
  signPut(key: string, object: AnnouncedObject): Promise<SignedPut | null>;
  /** Signs an address for a GET, valid for `signedGetMs`; null when objects are to be streamed. */
  signGet(key: string, object: LinkedObject): Promise<string | null>;
  /** Ends idle connections. */
  close(): void;
}

/** The store of the images: files below the data folder, or a bucket. */
export class ImageDisk extends Disk {
  declare driver: StoreDriver;

  constructor(driver: StoreDriver) {
    super(driver);
  }

  /** Opens an object by one request; null when it is not there. */
  open(key: string): Promise<OpenObject | null> {
    return this.driver.open(key);
  }

  close(): void {
    this.driver.close();
  }
}
