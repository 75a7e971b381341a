import { Readable } from "node:stream";
import { finished } from "node:stream/promises";
import { ZipFile } from "yazl";

export interface ZipEntry {
  /** Path inside the zip. */
  readonly name: string;
  /** Called when the entry is next, so that one source is open at a time; null leaves it out. */
  readonly open: () => Promise<Readable | null>;
  /** It is compressed; pictures are that already. */
  readonly isText?: boolean;
  /** Now by default. */
  readonly at?: Date;
}

/** The writer fails for a file that is older. */
const zero = new Date(0);

/** An entry with the value as JSON that people can read. */
export const jsonEntry = (name: string, value: unknown): ZipEntry => ({
  name,
  isText: true,
  open: async () => Readable.from([JSON.stringify(value, null, 2)], { objectMode: false }),
});

interface ZipOptions {
  /** Of each file as it is unpacked, with its type; by default the owner and the group write it, and everybody reads it. */
  readonly mode?: number;
}

/**
 * A zip that is made while it is read. A failing source, or an entry that cannot be opened, destroys the zip with its error, so
 * that it has no directory at its end and no program takes it for whole; closing the zip early closes the open source.
 */
export function packZip(
  entries: Iterable<ZipEntry> | AsyncIterable<ZipEntry>,
  { mode = 0o100_664 }: ZipOptions = {},
): Readable {
  const zip = new ZipFile();
  // Safe: yazl's stream is a PassThrough.
  const output = zip.outputStream as Readable;
  const fail = (error: unknown) => output.destroy(error instanceof Error ? error : new Error(String(error)));
  // Without a listener an error before the first read would end the process.
  output.on("error", () => undefined);
  zip.once("error", fail);
  async function fill(): Promise<void> {
    for await (const entry of entries) {
      if (output.destroyed) return;
      await add(entry);
    }
    zip.end();
  }
  async function add({ name, open, isText = false, at = new Date() }: ZipEntry): Promise<void> {
    const source = await open();
    if (!source) return;
    const stop = () => source.destroy();
    output.once("close", stop);
    try {
      const ended = finished(source, { writable: false });
      if (output.destroyed) stop();
      else zip.addReadStream(source, name, { compress: isText, mtime: at < zero ? zero : at, mode });
      await ended;
    } finally {
      output.off("close", stop);
    }
  }
  fill().catch(fail);
  return output;
}
