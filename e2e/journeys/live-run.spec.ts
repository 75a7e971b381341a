import { beGuest } from "../steps/be-guest.ts";
import { record } from "../steps/record.ts";
import { submitJob } from "../steps/submit-job.ts";
import { uploadSample } from "../steps/upload-sample.ts";
import { expect, test } from "../test.ts";

test("D7 E8 a running job is there again after a reload, and nothing polls for it", async ({ page }) => {
  await beGuest(page);
  // So large that its run outlasts a slow reload.
  const image = await uploadSample(page, "astronaut.png", 768);
  await page.goto("/jobs");
  await submitJob(page, { kind: "upscale", inputs: { image } });
  const list = page.getByRole("list", { name: "Jobs" });
  const progress = list.getByRole("progressbar", { name: "Progress: Upscale" });
  await expect(progress).toBeVisible({ timeout: 120_000 });
  await page.reload();
  await expect(progress).toBeVisible();

  const asked: string[] = [];
  page.on("request", (request) => {
    const { pathname } = new URL(request.url());
    // What the studio can do is asked again while a kind cannot run, and a function's stream is opened again in time.
    if (/\/api\/(trpc|v1)\/.*jobs(?!\.capabilities|\.watch)/.test(pathname)) asked.push(pathname);
  });
  const percents = await record(list, { selector: "[role=progressbar]", attribute: "aria-valuenow" });
  await expect(list.getByText("Done")).toBeVisible({ timeout: 240_000 });
  expect((await percents()).length).toBeGreaterThanOrEqual(3);
  // The list is read anew when a job has ended, and only then.
  expect(asked.length, asked.join(", ")).toBeLessThanOrEqual(1);
});
