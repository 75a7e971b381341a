import { grownBy } from "@atelier/testing/pictures";
import sharp from "sharp";
import { beforeAll, expect, test } from "vitest";
import { pngChunk } from "../images/formats/png.ts";
import { withChunksBehindHeader } from "../images/formats/png-write.ts";
import { readStatement } from "./read.ts";
import { hasManifest } from "./sign.ts";

let plain: Buffer;

beforeAll(async () => {
  const ground = { width: 16, height: 16, channels: 3, background: "#345" } as const;
  plain = await sharp({ create: ground }).png().toBuffer();
});

function box(type: string, ...parts: readonly Buffer[]): Buffer {
  const head = Buffer.alloc(8);
  const body = Buffer.concat(parts);
  head.writeUInt32BE(head.length + body.length);
  head.write(type, 4, "latin1");
  return Buffer.concat([head, body]);
}

/** The description of a box of boxes: its type's id, what follows, a label, and private boxes. */
function description(label: string, ...inner: readonly Buffer[]): Buffer {
  const toggles = Buffer.from([inner.length > 0 ? 0x13 : 0x03]);
  return box("jumd", Buffer.alloc(16, 7), toggles, Buffer.from(`${label}\0`), ...inner);
}

const superbox = (label: string, ...inner: readonly Buffer[]) => box("jumb", description(label), ...inner);
const withStore = (store: Buffer) => withChunksBehindHeader(plain, pngChunk("caBX", store));

/** Boxes in boxes around `core`, made from the inside. */
function nested(depth: number, core: Buffer, wrap: (inner: Buffer) => Buffer): Buffer {
  return Array.from({ length: depth }).reduce<Buffer>(wrap, core);
}

const filling = Buffer.alloc(1_000_000, 0x62);
const hostile = {
  "boxes in boxes": () => nested(300, box("bidb", filling), (inner) => box("jumb", inner)),
  "described boxes in boxes": () => nested(300, box("bidb", filling), (inner) => superbox("x", inner)),
  "boxes in descriptions": () =>
    nested(300, box("bidb", filling), (inner) => box("jumb", description("x", inner))),
  "boxes that reach behind the one around them": () => {
    const store = superbox(
      "c2pa",
      nested(300, box("bidb", filling), (inner) => box("jumb", inner)),
    );
    store.writeUInt32BE(60, store.length - filling.length - 8 - 300 * 8);
    return store;
  },
  "more boxes than any program writes": () =>
    superbox("c2pa", Buffer.concat(Array.from({ length: 200_000 }, () => box("free")))),
};

test.each(Object.entries(hostile))("S6 %s are no manifest, and cost no memory", async (_what, store) => {
  const file = withStore(store());
  const read = async () => {
    expect(hasManifest(file)).toBe(false);
    expect(await readStatement(file)).toMatchObject({ state: "broken", steps: [] });
  };
  expect(await grownBy(read)).toBeLessThan(100);
});
