import { mkdtemp, rm, writeFile } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { undecoded, undecodedFile } from "./undecoded.ts";

test.each([
  // What a decoder of each format says below a limit of address space.
  ["vips_image_write_to_memory: out of memory -- size == 183MB", "out_of_memory"],
  ["VipsJpeg: Insufficient memory (case 4)\nvips2png: unable to write to target target", "out_of_memory"],
  ["Input buffer has corrupt header: vips_tracked: out of memory -- size == 244MB", "out_of_memory"],
  ["heif: Invalid input: Unspecified: Memory allocation error (2.0)", "out_of_memory"],
  ["std::bad_alloc", "out_of_memory"],
  // Where the system's temporary folder is full, closed to writing, or not there.
  ["wbuffer_write: write failed\nsystem error: No space left on device", "storage_unavailable"],
  [
    'VipsImage: unable to write to "/tmp/vips-2-2487.v"\nsystem error: Read-only file system',
    "storage_unavailable",
  ],
  [
    'VipsImage: unable to write to "/gone/vips-0-5670.v"\nsystem error: No such file or directory',
    "storage_unavailable",
  ],
  ["VipsJpeg: premature end of JPEG image\nvips2png: unable to write to target target", "upload_unreadable"],
  ["VipsJpeg: premature end of JPEG image", "upload_unreadable"],
  ["Input buffer has corrupt header: pngload_buffer: libspng read error", "upload_unreadable"],
  ["Input buffer contains unsupported image format", "upload_unreadable"],
])("a picture of which the decoder says %j is %s", (said, code) => {
  expect(undecoded("upload_unreadable", new Error(said)).code).toBe(code);
});

test("a file that cannot be opened is no damaged picture", async () => {
  const folder = await mkdtemp(path.join(os.tmpdir(), "atelier-undecoded-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  const file = path.join(folder, "a.png");
  const cause = new Error("Input file contains unsupported image format");
  expect(await undecodedFile(file, "upload_unreadable", cause)).toMatchObject({ code: "ENOENT" });
  await writeFile(file, "no picture");
  expect(await undecodedFile(file, "upload_unreadable", cause)).toMatchObject({
    code: "upload_unreadable",
    cause,
  });
});
