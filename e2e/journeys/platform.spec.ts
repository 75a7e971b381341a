import type { Page } from "@playwright/test";
import { beGuest } from "../steps/be-guest.ts";
import { chooseFiles } from "../steps/choose-files.ts";
import { countStreams } from "../steps/count-streams.ts";
import { sameSite } from "../steps/same-site.ts";
import { submitJob } from "../steps/submit-job.ts";
import { uploadSample } from "../steps/upload-sample.ts";
import { expect, test } from "../test.ts";

// What only the stand-in of a platform of functions shows: its limits of bodies and of time, and frozen processes.

interface Figures {
  readonly refused: number;
  readonly cut: number;
  /** How often a process was frozen: the one for streams, the one for everything else. */
  readonly frozen: { readonly streams: number; readonly calls: number };
}

async function readFigures(page: Page): Promise<Figures> {
  return (await page.request.get("/.platform")).json();
}

/** A picture of noise, which no format makes small. */
async function drawNoise(page: Page, sidePx: number): Promise<Buffer> {
  const base64 = await page.evaluate(async (side) => {
    const canvas = new OffscreenCanvas(side, side);
    const context = canvas.getContext("2d");
    const picture = new ImageData(side, side);
    // The most that one call fills.
    for (let at = 0; at < picture.data.length; at += 65_536)
      crypto.getRandomValues(picture.data.subarray(at, at + 65_536));
    for (let at = 3; at < picture.data.length; at += 4) picture.data[at] = 255;
    context?.putImageData(picture, 0, 0);
    const bytes = new Uint8Array(await (await canvas.convertToBlob({ type: "image/png" })).arrayBuffer());
    let text = "";
    for (const byte of bytes) text += String.fromCharCode(byte);
    return btoa(text);
  }, sidePx);
  return Buffer.from(base64, "base64");
}

test("A15 A16 a picture above the platform's limit of bodies goes to the bucket, and not through a function", async ({
  page,
}) => {
  await beGuest(page);
  await page.goto("/gallery");
  const buffer = await drawNoise(page, 1_400);
  expect(buffer.byteLength).toBeGreaterThan(4.5 * 1024 ** 2);
  const file = { name: "noise.png", mimeType: "image/png", buffer };
  const before = await readFigures(page);
  await chooseFiles(page.getByRole("button", { name: "Upload", exact: true }).first(), file);
  await expect(page.getByRole("button", { name: "noise", exact: true })).toBeVisible();
  expect((await readFigures(page)).refused).toBe(before.refused);
  const through = await page.request.post("/api/v1/uploads", { multipart: { file }, ...sameSite() });
  expect(through.status()).toBe(413);
});

test("D7 a live stream ends before the platform cuts it, and the next one goes on where it stood", async ({
  page,
  context,
}) => {
  await beGuest(page);
  const before = await readFigures(page);
  const image = await uploadSample(page, "astronaut.png");
  const streams = countStreams(context);
  await page.goto("/jobs");
  await submitJob(page, { kind: "upscale", inputs: { image } });
  const list = page.getByRole("list", { name: "Jobs" });
  await expect(list.getByText("Done")).toHaveCount(1, { timeout: 120_000 });
  await expect.poll(streams.openedCount, { timeout: 120_000 }).toBeGreaterThan(1);
  await submitJob(page, { kind: "remove_background", inputs: { image } });
  await expect(list.getByText("Done")).toHaveCount(2, { timeout: 120_000 });
  await expect(page.getByText(/reconnect/i)).toHaveCount(0);
  const { cut, frozen } = await readFigures(page);
  expect(cut).toBe(before.cut);
  expect(frozen.calls).toBeGreaterThan(10);
});
