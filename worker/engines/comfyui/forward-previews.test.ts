import { randomBytes } from "node:crypto";
import sharp from "sharp";
import { expect, test, vi } from "vitest";
import { forwardPreviews } from "./forward-previews.ts";
import { newContext } from "./fixtures/open-scene.ts";

const paint = (background: string, sidePx = 64) =>
  sharp({ create: { width: sidePx, height: sidePx, channels: 3, background } })
    .png()
    .toBuffer();

async function colorOf(preview: Uint8Array): Promise<number[]> {
  const { channels } = await sharp(preview).stats();
  return channels.map(({ mean }) => Math.round(mean / 255));
}

test("A12 a preview of many megabytes is dropped, and one that is no picture holds up none", async () => {
  const { context, previews } = newContext();
  const forward = forwardPreviews(context);
  const noise = { width: 1_024, height: 1_024, channels: 3 as const };
  const large = await sharp(randomBytes(1_024 * 1_024 * 3), { raw: noise })
    .png()
    .toBuffer();
  forward(large);
  const small = await paint("#00f");
  forward(small);
  await vi.waitUntil(() => previews.length > 0);
  expect(await Promise.all(previews.map(colorOf))).toEqual([[0, 0, 1]]);
  forward(Buffer.from("no picture"));
  await vi.waitUntil(() => {
    forward(small);
    return previews.length > 1;
  });
});
