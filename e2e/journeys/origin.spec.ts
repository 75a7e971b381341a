import sharp from "sharp";
import { beGuest } from "../steps/be-guest.ts";
import { chooseFiles } from "../steps/choose-files.ts";
import { findBarriers } from "../steps/find-barriers.ts";
import { sameSite } from "../steps/same-site.ts";
import { samplePath } from "../steps/samples.ts";
import { startSimulator } from "../steps/start-simulator.ts";
import { submitJob } from "../steps/submit-job.ts";
import { waitForResult } from "../steps/wait-for-result.ts";
import { expect, test } from "../test.ts";

/** The server is looked for every ten seconds. */
const serverFoundMs = 120_000;

let stop: () => Promise<void>;
test.beforeAll(async ({ comfyPort }) => {
  stop = await startSimulator(comfyPort);
});
test.afterAll(() => stop());

test("@all S5 a picture made here is known by its statement, a cut JPEG of it by its mark, others are told apart", async ({
  page,
}) => {
  await beGuest(page);
  const request = {
    kind: "text_to_image",
    inputs: {},
    params: { prompt: "a lighthouse", width: 768, height: 768 },
  } as const;
  await expect
    .poll(
      async () => {
        const asked = await page.request.post("/api/v1/jobs/estimate", { data: request, ...sameSite() });
        return (await asked.json()).isPossible;
      },
      { timeout: serverFoundMs },
    )
    .toBe(true);
  const imageId = await waitForResult(page, await submitJob(page, request));
  const stored = await page.request.get(`/api/v1/images/${imageId}/file?variant=original`);
  const buffer = await stored.body();

  await page.goto("/origin");
  const choose = page.getByRole("button", { name: "Choose a picture" });
  await expect(page.getByRole("heading", { name: "Drop a picture" })).toBeVisible();
  const ask = (name: string, mimeType: string, bytes: Buffer) =>
    chooseFiles(choose, { name, mimeType, buffer: bytes });
  const made = page.getByRole("heading", { name: "This studio made it" });
  const shown = page.getByRole("link", { name: "Show in the gallery" });

  await ask("made.png", "image/png", buffer);
  await expect(made).toBeVisible();
  await expect(page.getByText(/^The statement in the file is signed with this studio's key/)).toBeVisible();
  await expect(page.getByText(/^Created · by AI · comfyui\//)).toBeVisible();
  await expect(page.getByText("made.png")).toBeVisible();
  await expect(page.locator("figure img")).toBeVisible();
  await expect(shown).toHaveAttribute("href", `/gallery?image=${imageId}`);
  expect(await findBarriers(page)).toEqual([]);

  const { width, height } = await sharp(buffer).metadata();
  const cut = { left: 40, top: 30, width: Math.round(width * 0.9), height: Math.round(height * 0.9) };
  await ask("cut.jpg", "image/jpeg", await sharp(buffer).extract(cut).jpeg({ quality: 75 }).toBuffer());
  await expect(page.getByText(/the watermark in its pixels leads to a picture/)).toBeVisible();
  await expect(made).toBeVisible();
  await expect(shown).toHaveAttribute("href", `/gallery?image=${imageId}`);

  await chooseFiles(choose, samplePath("coffee.png"));
  await expect(page.getByRole("heading", { name: "It says nothing" })).toBeVisible();
  await expect(page.getByText("coffee.png")).toBeVisible();
  await expect(shown).toBeHidden();

  await ask("letter.png", "image/png", Buffer.from("Dear Sir or Madam"));
  await expect(page.getByRole("heading", { name: "This cannot be read as a picture" })).toBeVisible();
  await expect(page.getByText("letter.png")).toBeVisible();
  await expect(page.locator("figure img")).toBeHidden();
  expect(await findBarriers(page)).toEqual([]);
});
