import { beGuest } from "../steps/be-guest.ts";
import { submitJob } from "../steps/submit-job.ts";
import { uploadSample } from "../steps/upload-sample.ts";
import { expect, test } from "../test.ts";

test("D6 E8 a running job is cancelled; trying again makes a new job that runs", async ({ page }) => {
  await beGuest(page);
  // So large that no run ends before it is cancelled.
  const image = await uploadSample(page, "astronaut.png", 1_280);
  await page.goto("/jobs");
  await submitJob(page, { kind: "upscale", inputs: { image } });
  const rows = page.getByRole("list", { name: "Jobs" }).getByRole("listitem");
  await expect(rows.getByRole("progressbar")).toBeVisible({ timeout: 120_000 });
  await rows.getByRole("button", { name: "Cancel: Upscale" }).click();
  await expect(rows.getByText("Cancelled")).toBeVisible();

  await rows.getByRole("button", { name: "Try again: Upscale" }).click();
  await expect(rows).toHaveCount(2);
  await expect(rows.first().getByRole("progressbar")).toBeVisible({ timeout: 120_000 });
  await expect(rows.last().getByText("Cancelled")).toBeVisible();
  await rows.first().getByRole("button", { name: "Cancel: Upscale" }).click();
  await expect(rows.getByText("Cancelled")).toHaveCount(2);

  await rows.last().getByRole("link").click();
  await expect(page.getByRole("heading", { name: "What happened" })).toBeVisible();
  await expect(page.getByText("It was cancelled.")).toBeVisible();
});

test("@all D6 without a job the page only says how to begin; filters that match nothing can be cleared", async ({
  page,
}) => {
  await beGuest(page);
  const filters = page.getByRole("group", { name: "Filter the jobs" });
  await page.goto("/jobs");
  await expect(page.getByRole("heading", { name: "No jobs here" })).toBeVisible();
  await expect(filters).toBeHidden();
  await page.getByRole("link", { name: "To the studio", exact: true }).click();
  await expect(page.getByRole("heading", { name: "Studio" })).toBeVisible();

  await page.goto("/jobs?status=failed");
  await expect(page.getByRole("heading", { name: "Nothing matches" })).toBeVisible();
  await expect(filters.getByRole("button", { name: "Failed" })).toHaveAttribute("aria-pressed", "true");
  await page.getByRole("link", { name: "Clear the filters" }).click();
  await expect(page.getByRole("heading", { name: "No jobs here" })).toBeVisible();
  await expect(filters).toBeHidden();
});
