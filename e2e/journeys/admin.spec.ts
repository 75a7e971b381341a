import { beAdmin } from "../steps/be-admin.ts";
import { beUser } from "../steps/be-user.ts";
import { orderNode } from "../steps/order-node.ts";
import { sameSite } from "../steps/same-site.ts";
import { submitJob } from "../steps/submit-job.ts";
import { uploadSample } from "../steps/upload-sample.ts";
import { waitForResult } from "../steps/wait-for-result.ts";
import { expect, test } from "../test.ts";

/** It may have been handed over already when the node was drained. */
const waits = /^Waiting (in the queue|for a worker)$/;

test("O4 D9 an admin drains the node, raises a waiting job and resumes; the story tells it all", async ({
  page,
}) => {
  await beAdmin(page);
  const image = await uploadSample(page, "astronaut.png");
  await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Admin" }).click();
  await expect(page.getByRole("table", { name: "Queues" }).getByRole("row").nth(1)).toBeVisible();

  await page.getByRole("link", { name: "Nodes" }).click();
  await orderNode(page, "Drain");

  const jobId = await submitJob(page, { kind: "remove_background", inputs: { image } });
  await page.goto(`/admin/jobs?status=open&text=${jobId}`);
  await page.getByRole("table", { name: "Jobs" }).getByRole("link", { name: "Remove background" }).click();
  await expect(page.getByRole("heading", { name: "Where it was placed" })).toBeVisible();
  await expect(page.getByText(waits)).toBeVisible();
  await page.getByRole("radio", { name: "Urgent" }).click();
  const story = page.getByRole("list", { name: "What happened" });
  await expect(story.getByText("An admin changed its tier to urgent.")).toBeVisible();
  await expect(page.getByText(waits)).toBeVisible();

  await page.goto("/admin/nodes");
  await orderNode(page, "Resume");
  await waitForResult(page, jobId);
  await page.goto(`/admin/jobs/${jobId}`);
  await expect(story.getByText(/ took it\.$/)).toBeVisible();
  await expect(story.getByText("The result was saved.")).toBeVisible();
  const log = page.getByRole("list", { name: "Log" });
  await expect(log.getByText("job accepted")).toBeVisible();
  await expect(log.getByText("run ended")).toBeVisible();
});

test("@all O4 an admin stops a job after being asked in place, and runs it again", async ({ page }) => {
  await beAdmin(page);
  const image = await uploadSample(page, "astronaut.png");
  await page.goto("/admin/nodes");
  await orderNode(page, "Drain");
  const jobId = await submitJob(page, { kind: "remove_background", inputs: { image } });
  await page.goto(`/admin/jobs/${jobId}`);
  await page.getByRole("button", { name: "Cancel job" }).press("Enter");
  await expect(page.getByRole("button", { name: "Yes, cancel" })).toBeFocused();
  await page.keyboard.press("Escape");
  await expect(page.getByRole("button", { name: "Cancel job" })).toBeFocused();
  await page.keyboard.press("Enter");
  await expect(page.getByRole("button", { name: "Yes, cancel" })).toBeFocused();
  await page.keyboard.press("Enter");
  await expect(page.getByText("Cancelled", { exact: true })).toBeVisible();
  const told = expect(page.getByText("Runs again")).toBeVisible();
  await page.getByRole("button", { name: "Run again" }).click();
  await told;
  await page.goto("/admin/nodes");
  await orderNode(page, "Resume");
});

test("@all S1 an account that is no admin finds no way there, and is told so", async ({ page, browser }) => {
  const first = await browser.newPage();
  await beAdmin(first);
  await first.close();
  await beUser(page);
  await page.goto("/");
  await expect(page.getByRole("link", { name: "Ada", exact: true })).toBeVisible();
  await expect(
    page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Admin" }),
  ).toHaveCount(0);
  await page.goto("/admin");
  await expect(page.getByRole("heading", { name: "For admins only" })).toBeVisible();
  const answer = await page.request.get("/api/trpc/admin.nodes.list", sameSite());
  expect(answer.status()).toBe(403);
});

test("@all O4 @phone a job takes two lines of the list on a phone, and a tap on them opens it", async ({
  page,
}) => {
  await beAdmin(page);
  const image = await uploadSample(page, "astronaut.png", 96);
  const jobId = await submitJob(page, { kind: "upscale", inputs: { image } });
  await page.goto(`/admin/jobs?text=${jobId}`);
  const row = page.getByRole("table", { name: "Jobs" }).getByRole("row").last();
  await expect(row).toContainText("Upscale");
  const box = await row.boundingBox();
  expect(box?.height).toBeGreaterThanOrEqual(44);
  expect(box?.height).toBeLessThan(72);
  await row.tap({ position: { x: (box?.width ?? 0) / 2, y: (box?.height ?? 0) - 8 } });
  await expect(page).toHaveURL(new RegExp(`/admin/jobs/${jobId}$`));
});
