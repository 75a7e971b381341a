import type { Readable } from "node:stream";
import { Disk } from "flydrive";
import type { DriverContract } from "flydrive/types";

/** An object that is being read. Whoever does not read `stream` to its end destroys it. */
export interface OpenObject {
  readonly stream: Readable;
  readonly sizeBytes: number;
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
