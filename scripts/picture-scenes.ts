import type { Page } from "@playwright/test";
import sharp from "sharp";

interface Film {
  readonly page: Page;
  /** Until nothing on the page moves any more. */
  readonly settle: () => Promise<void>;
}

/** The stage after the title, without the frame of the studio. */
const stage = { x: 200, y: 0, width: 1_240, height: 900 } as const;
const frame = { width: 480, height: 348, gap: 12 } as const;
const perRow = 2;

/**
 * A retouch as it is done, in the editor that is open with a picture: each step is a frame. Two masts are taken out of the photo, one by
 * brush and one by lasso, it is compared, made lighter, cropped and enlarged. All of it runs on this computer.
 */
export async function filmRetouch({ page, settle }: Film): Promise<Buffer> {
  const frames: Buffer[] = [];
  const shoot = async () => {
    await settle();
    const png = await page.screenshot({ animations: "disabled", clip: stage });
    frames.push(await sharp(png).resize(frame.width, frame.height, { fit: "cover" }).toBuffer());
  };
  const versions = page.getByRole("list", { name: "Versions" });
  const until = (number: number) =>
    versions.locator("[aria-current=true]", { hasText: String(number) }).waitFor({ timeout: 300_000 });
  const mode = (name: string) =>
    page.getByRole("radiogroup", { name: "What to do" }).getByRole("radio", { name, exact: true }).click();

  await shoot();
  await drag(page, [
    [0.7, 0.27],
    [0.7, 0.5],
    [0.7, 0.79],
  ]);
  await shoot();
  await page.getByRole("button", { name: "Remove object", exact: true }).click();
  await until(2);
  await shoot();
  await page.keyboard.press("l");
  await drag(page, [
    [0.295, 0.27],
    [0.33, 0.27],
    [0.345, 0.8],
    [0.275, 0.8],
    [0.295, 0.27],
  ]);
  await shoot();
  await page.getByRole("button", { name: "Remove object", exact: true }).click();
  await until(3);
  await page.getByRole("button", { name: "Compare" }).click();
  await page.getByRole("slider", { name: "Before and after" }).first().waitFor();
  await shoot();
  await page.getByRole("button", { name: "Stop comparing" }).click();
  await mode("Adjust");
  await setSlider(page, "Light", 4);
  await setSlider(page, "Contrast", 2);
  await page.locator("[data-preview=shown]").waitFor();
  await shoot();
  await page.getByRole("button", { name: "Apply", exact: true }).click();
  await until(4);
  await page.keyboard.press("c");
  await page.getByRole("radio", { name: "1:1", exact: true }).click();
  await shoot();
  await page.getByRole("application", { name: /Frame of the crop/ }).press("Enter");
  await until(5);
  await shoot();
  await mode("Enhance");
  await page.getByRole("button", { name: "Upscale ×2" }).click();
  await page.getByRole("progressbar").first().waitFor();
  await shoot();
  await until(6);
  await shoot();
  return layOut(frames);
}

/** Along points of the picture, from 0 to 1. */
async function drag(page: Page, points: readonly (readonly [number, number])[]): Promise<void> {
  const box = await page.getByRole("img", { name: "The picture you edit" }).boundingBox();
  if (!box) throw new Error("the picture is not shown");
  for (const [at, [x, y]] of points.entries()) {
    await page.mouse.move(box.x + x * box.width, box.y + y * box.height, { steps: 8 });
    if (at === 0) await page.mouse.down();
  }
  await page.mouse.up();
}

async function setSlider(page: Page, name: string, presses: number): Promise<void> {
  const slider = page.getByRole("slider", { name });
  for (let press = 0; press < presses; press += 1) await slider.press("PageUp");
}

/** The frames in rows, read from left to right. */
function layOut(frames: readonly Buffer[]): Promise<Buffer> {
  const rows = Math.ceil(frames.length / perRow);
  const width = perRow * frame.width + (perRow - 1) * frame.gap;
  const height = rows * frame.height + (rows - 1) * frame.gap;
  const placed = frames.map((input, at) => ({
    input,
    left: (at % perRow) * (frame.width + frame.gap),
    top: Math.floor(at / perRow) * (frame.height + frame.gap),
  }));
  return sharp({ create: { width, height, channels: 3, background: "#ffffff" } })
    .composite(placed)
    .png()
    .toBuffer();
}

const persons = 4;
const garments = ["garment_hoodie", "garment_tee", "garment_long_sleeve"] as const;

/**
 * Orders a lookbook of four persons in six garments on this computer, and waits until it is done. The persons are one photo in
 * four cuts, the garments three samples and the same in another colour. Returns the id of its batch.
 */
export async function orderLookbook(page: Page): Promise<string> {
  const person = await readUpload(page, "astronaut");
  const { width, height } = await sharp(person).metadata();
  const cut = (share: number) => ({
    left: 0,
    top: 0,
    width: Math.round(width * share),
    height: Math.round(height * share),
  });
  const cuts = [
    sharp(person),
    sharp(person).flop(),
    sharp(person).extract(cut(0.9)),
    sharp(person).flop().extract(cut(0.94)),
  ];
  const personIds: string[] = [];
  for (const picture of cuts.slice(0, persons))
    personIds.push(await upload(page, await picture.png().toBuffer()));
  const garmentIds: string[] = [];
  for (const name of garments) {
    const garment = await readUpload(page, name);
    garmentIds.push(await upload(page, garment));
    garmentIds.push(await upload(page, await sharp(garment).modulate({ hue: 140 }).png().toBuffer()));
  }
  const base = {
    kind: "outfit_change",
    engine: "local",
    params: { category: "top", consent: true },
    inputs: { person: personIds[0], garment: garmentIds[0] },
  };
  const axes = [
    { param: "inputs.person", values: personIds },
    { param: "inputs.garment", values: garmentIds },
  ];
  const data = { title: "Lookbook of 24", base, axes };
  const answer = await page.request.post("/api/v1/batches", { data, headers: { origin: originOf(page) } });
  if (!answer.ok())
    throw new Error(`the lookbook was answered with ${answer.status()}: ${await answer.text()}`);
  const { id }: { id: string } = await answer.json();
  const beganMs = performance.now();
  await page.goto(`/batches/${id}`);
  await page.getByText("24 of 24 done").waitFor({ timeout: 600_000 });
  console.log(`24 outfit changes on this computer: ${Math.round((performance.now() - beganMs) / 1_000)} s`);
  return id;
}

const originOf = (page: Page) => new URL(page.url()).origin;

async function readUpload(page: Page, title: string): Promise<Buffer> {
  const found = await page.request.get("/api/v1/images", {
    params: { search: `is:upload ${title}`, limit: 1 },
  });
  const [id]: string[] = (await found.json()).items.map((image: { id: string }) => image.id);
  return (await page.request.get(`/api/v1/images/${id}/file`)).body();
}

async function upload(page: Page, buffer: Buffer): Promise<string> {
  const file = { name: "picture.png", mimeType: "image/png", buffer };
  const answer = await page.request.post("/api/v1/uploads", {
    multipart: { file },
    headers: { origin: originOf(page) },
  });
  const { id }: { id: string } = await answer.json();
  return id;
}
