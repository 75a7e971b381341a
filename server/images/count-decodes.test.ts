import { readSample } from "@atelier/testing/pictures";
import type * as sharpModule from "sharp";
import { expect, test, vi } from "vitest";
import { makeFiles, planUpload } from "./files.ts";

const { compressedInputs } = vi.hoisted(() => ({ compressedInputs: [] as unknown[] }));

// Sees every pipeline that starts from a file's bytes; those that start from decoded pixels say so by `raw`.
vi.mock("sharp", async (importOriginal) => {
  const { default: sharp } = await importOriginal<typeof sharpModule>();
  const counted = (input: unknown, options?: { raw?: unknown }) => {
    if (!options?.raw) compressedInputs.push(input);
    return sharp(input as Buffer, options as object);
  };
  return { default: Object.assign(counted, sharp) };
});

test.each([
  ["photo", "upload", "astronaut.png"],
  ["photo", "upload", "garment_dress.jpg"],
  ["mask", "mask", "coffee.png"],
] as const)("P8 a %s is decoded exactly once for all of its files", async (_name, role, name) => {
  const bytes = await readSample(name);
  compressedInputs.length = 0;
  const files = await makeFiles(bytes, await planUpload(bytes, { role }));
  expect(compressedInputs).toHaveLength(1);
  expect(Object.keys(files)).toEqual(
    expect.arrayContaining(["original", "preview", "thumbnail", "thumbhash"]),
  );
});
