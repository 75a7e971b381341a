import { once } from "node:events";
import { createReadStream } from "node:fs";
import { Readable } from "node:stream";
import { buffer } from "node:stream/consumers";
import { expect, test } from "vitest";
import { jsonEntry, packZip, type ZipEntry } from "./zip.ts";

const text = jsonEntry("job.json", {});

/** Entries that say which sources were opened. */
function watchedEntries(count: number, open: (at: number) => Readable) {
  const opened: Readable[] = [];
  const entries = Array.from({ length: count }, (_, at): ZipEntry => {
    return {
      name: `${at}.bin`,
      open: async () => {
        const source = open(at);
        opened.push(source);
        return source;
      },
    };
  });
  return { entries, opened };
}

const endless = () =>
  new Readable({
    read() {
      this.push(Buffer.alloc(65_536));
    },
  });

test("D12 a zip holds all entries, and each source is opened in its turn and closed", async () => {
  const { entries, opened } = watchedEntries(3, () => createReadStream(import.meta.filename));
  const bytes = await buffer(packZip([text, ...entries]));
  for (const { name } of [text, ...entries]) expect(bytes.includes(name)).toBe(true);
  expect(opened.map((source) => source.destroyed)).toEqual([true, true, true]);
});

test("D12 a zip keeps nothing of the sources that it has read", async () => {
  const counts: number[] = [];
  const { entries } = watchedEntries(20, () => {
    counts.push(zip.listenerCount("close"));
    return createReadStream(import.meta.filename);
  });
  const zip = packZip([text, ...entries]);
  await buffer(zip);
  expect(Math.max(...counts)).toBeLessThanOrEqual((counts[0] ?? 0) + 1);
});

test("D12 a zip whose reader leaves closes the open source and opens no further one", async () => {
  const { entries, opened } = watchedEntries(3, endless);
  const zip = packZip([text, ...entries]);
  await expect.poll(() => opened.length).toBe(1);
  await once(zip, "readable");
  zip.destroy();
  await once(zip, "close");
  await expect.poll(() => opened.map((source) => source.destroyed)).toEqual([true]);
});

test("D12 a source that fails while it is read fails the zip and closes it", async () => {
  const { entries, opened } = watchedEntries(2, (at) =>
    createReadStream(at === 0 ? import.meta.filename : `${import.meta.filename}.absent`),
  );
  await expect(buffer(packZip([text, ...entries]))).rejects.toMatchObject({ code: "ENOENT" });
  expect(opened.map((source) => source.destroyed)).toEqual([true, true]);
});

test("D12 a source that cannot be opened fails the zip", async () => {
  const refused = { name: "gone.bin", open: () => Promise.reject(new Error("gone")) };
  await expect(buffer(packZip([text, refused]))).rejects.toThrow("gone");
});
