import { beGuest } from "../steps/be-guest.ts";
import { submitJob } from "../steps/submit-job.ts";
import { uploadSample } from "../steps/upload-sample.ts";
import { expect, test } from "../test.ts";

test("D7 E8 a running job is there again after a reload, and nothing polls for it", async ({ page }) => {
  await beGuest(page);
  const image = await uploadSample(page, "chelsea.png");
  await page.goto("/jobs");
  await submitJob(page, { kind: "upscale", inputs: { image } });
  const row = page.getByRole("list", { name: "Jobs" }).getByRole("listitem");
  const progress = row.getByRole("progressbar", { name: "Progress: Upscale ×2" });
  await expect(progress).toBeVisible({ timeout: 30_000 });
  await page.reload();
  await expect(progress).toBeVisible();

  const asked: string[] = [];
  const note = (request: { url: () => string }) => {
    if (new URL(request.url()).pathname.startsWith("/api/")) asked.push(request.url());
  };
  const percent = async () => Number(await progress.getAttribute("aria-valuenow"));
  const start = await percent();
  page.on("request", note);
  await expect.poll(percent, { timeout: 45_000, intervals: [50] }).toBeGreaterThan(start + 20);
  page.off("request", note);
  expect(asked).toEqual([]);
  await expect(row.getByText("Done")).toBeVisible({ timeout: 45_000 });
});
