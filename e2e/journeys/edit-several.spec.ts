import { beGuest } from "../steps/be-guest.ts";
import { findBarriers } from "../steps/find-barriers.ts";
import { readPixel } from "../steps/read-pixel.ts";
import { uploadSample } from "../steps/upload-sample.ts";
import type { Page } from "@playwright/test";
import { type Sample, samplePath } from "../steps/samples.ts";
import { expect, test } from "../test.ts";

/** Puts samples into the gallery, selects all of them and chooses *Edit all…*. */
async function editAll(page: Page, samples: readonly Sample[]): Promise<void> {
  for (const sample of samples) await uploadSample(page, sample, 256);
  await page.goto("/gallery");
  for (const sample of samples)
    await page.getByRole("checkbox", { name: new RegExp(`Select ${sample.replace(/\.\w+$/, "")}`) }).click();
  await page.getByRole("toolbar", { name: "Selection" }).getByRole("button", { name: "Process" }).click();
  await page.getByRole("menuitem", { name: "Edit all…" }).click();
  await expect(page.getByRole("heading", { name: `${samples.length} pictures` })).toBeVisible();
}

test("D1 pictures that are selected get the same steps in one order; one is left out, and all is there again after a reload", async ({
  page,
}) => {
  await beGuest(page);
  await editAll(page, ["garment_tee.jpg", "rocket.jpg", "astronaut.png"]);
  const steps = page.getByRole("list", { name: "Steps" });
  const first = steps.getByRole("listitem", { name: "Step 1: Background" });
  await first.getByRole("radio", { name: "Colour", exact: true }).click();
  await first.getByRole("radio", { name: "Green" }).click();
  const add = async (mode: string) => {
    await page.getByRole("button", { name: "Add a step" }).click();
    await page.getByRole("menuitem", { name: mode, exact: true }).click();
  };
  await add("Adjust");
  const run = page.getByRole("button", { name: /^Edit \d pictures/ });
  await expect(steps.getByText("Move a slider to begin.")).toBeVisible();
  await expect(run).toBeDisabled();
  const light = steps.getByRole("slider", { name: "Light" });
  await light.focus();
  await page.keyboard.press("ArrowRight");
  await expect(run).toBeEnabled();
  await steps.getByRole("button", { name: "Move Adjust up" }).click();
  await expect(steps.getByRole("listitem", { name: "Step 1: Adjust" })).toBeVisible();

  await page.getByRole("button", { name: "Leave out picture 2" }).click();
  await expect(page.getByRole("heading", { name: "2 pictures" })).toBeVisible();
  expect(await findBarriers(page)).toEqual([]);
  await page.reload();
  await expect(page.getByRole("heading", { name: "2 pictures" })).toBeVisible();
  await expect(steps.getByRole("listitem", { name: "Step 2: Background" })).toBeVisible();
  await expect(page.getByText(/^All 2 done in/)).toBeVisible();

  const orders = page.waitForRequest((request) => request.url().includes("batches.submit"));
  await page.keyboard.press("Control+Enter");
  await orders;
  await expect(page).toHaveURL(/\/batches\//);
  await expect(page.getByRole("heading", { name: "Adjust → Background: 2 pictures" })).toBeVisible();
  await expect(page.getByRole("main").getByRole("status")).toContainText("2 of 2 done");
  const id = page.url().split("/").at(-1) ?? "";
  const batch = await page.request.get(`/api/v1/batches/${id}`);
  const { jobs }: { jobs: { job: { kind: string; outputs: { imageId: string }[] } }[] } = await batch.json();
  expect(jobs.map(({ job }) => job.kind)).toEqual(["remove_background", "remove_background"]);
  for (const { job } of jobs)
    expect(await readPixel(page, job.outputs[0]?.imageId ?? "", 2, 2)).toEqual([0x5f, 0x8a, 0x6b, 255]);
});

test("@all D1 pictures of several sizes are cropped to one shape", async ({ page }) => {
  await beGuest(page);
  await editAll(page, ["garment_tee.jpg", "rocket.jpg"]);
  const steps = page.getByRole("list", { name: "Steps" });
  await page.getByRole("button", { name: "Add a step" }).click();
  await page.getByRole("menuitem", { name: "Crop", exact: true }).click();
  await steps.getByRole("button", { name: /^Remove .*Background/ }).click();
  const crop = steps.getByRole("listitem", { name: "Step 1: Crop" });
  await crop.getByRole("radio", { name: "5:4" }).click();
  await crop.getByRole("button", { name: "Upright" }).click();
  await expect(crop.getByRole("radio", { name: "4:5" })).toBeChecked();
  expect(await findBarriers(page)).toEqual([]);
  await page.keyboard.press("Control+Enter");
  await expect(page).toHaveURL(/\/batches\//);
  await expect(page.getByRole("main").getByRole("status")).toContainText("2 of 2 done");
  const batch = await page.request.get(`/api/v1/batches/${page.url().split("/").at(-1) ?? ""}`);
  const { jobs }: { jobs: { job: { params: { rect: { width: number; height: number } } } }[] } =
    await batch.json();
  expect(jobs).toHaveLength(2);
  for (const { job } of jobs) expect(job.params.rect.width / job.params.rect.height).toBeCloseTo(0.8, 1);
});

test("@all a picture that is uploaded for a step goes to it, although the step moved meanwhile", async ({
  page,
}) => {
  await beGuest(page);
  await editAll(page, ["garment_tee.jpg", "rocket.jpg"]);
  const steps = page.getByRole("list", { name: "Steps" });
  const first = steps.getByRole("listitem", { name: "Step 1: Background" });
  await first.getByRole("radio", { name: "Picture", exact: true }).click();
  await page.getByRole("button", { name: "Add a step" }).click();
  await page.getByRole("menuitem", { name: "Background", exact: true }).click();
  await expect(page.getByRole("button", { name: /^Edit 2 pictures/ })).toBeDisabled();
  const { promise: isMoved, resolve: moved } = Promise.withResolvers<void>();
  await page.route("**/api/v1/uploads**", async (route) => {
    await isMoved;
    await route.continue();
  });
  const chooser = page.waitForEvent("filechooser");
  await first.getByRole("button", { name: "Upload a picture" }).click();
  const asked = page.waitForRequest("**/api/v1/uploads**");
  await (await chooser).setFiles(samplePath("astronaut.png"));
  await asked;
  await steps.getByRole("button", { name: "Move Background up" }).click();
  moved();
  await expect(page.getByRole("button", { name: /^Edit 2 pictures/ })).toBeEnabled();
});

test("@all D1 without pictures the page says where to choose some", async ({ page }) => {
  await beGuest(page);
  await page.goto("/edit");
  await expect(page.getByRole("heading", { name: "No pictures are chosen" })).toBeVisible();
  await page.getByRole("main").getByRole("link", { name: "To the gallery" }).click();
  await expect(page).toHaveURL(/\/gallery$/);
});
