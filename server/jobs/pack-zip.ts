import type { Readable } from "node:stream";
import { ZipFile } from "yazl";

export interface ZipEntry {
  /** Path inside the zip. */
  readonly name: string;
  /** Called when the entry's turn comes, so that one source is open at a time. */
  open(): Promise<Readable>;
}

/**
 * A zip of one text and of sources that are compressed already. A source that fails destroys the zip with its error;
 * a zip that is closed early closes the source that is open.
 */
export function packZip(text: { name: string; bytes: Buffer }, entries: readonly ZipEntry[]): Readable {
  const zip = new ZipFile();
  // Safe: yazl's stream is a PassThrough.
  const output = zip.outputStream as Readable;
  const fail = (error: Error) => output.destroy(error);
  // Errors reach whoever reads; nobody may do so yet.
  output.on("error", () => undefined);
  zip.once("error", fail);
  zip.addBuffer(text.bytes, text.name);
  for (const entry of entries) {
    zip.addReadStreamLazy(entry.name, { compress: false }, (take) => {
      entry.open().then((source) => {
        source.on("error", fail);
        output.once("close", () => source.destroy());
        if (output.destroyed) source.destroy();
        else take(null, source);
      }, fail);
    });
  }
  zip.end();
  return output;
}
