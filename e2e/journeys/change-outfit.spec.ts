import { bringOutfit } from "../steps/bring-outfit.ts";
import { holdJobs } from "../steps/order-node.ts";
import { record } from "../steps/record.ts";
import { beGuest } from "../steps/be-guest.ts";
import { expect, test } from "../test.ts";

test("A5 A11 D7 E8 a person and a garment become a result, seen live from waiting to done", async ({
  browser,
  page,
}) => {
  await beGuest(page);
  await page.goto("/");
  const documents = await page.evaluateHandle(() => ({ same: true }));
  const result = page.getByRole("region", { name: "Result" });
  await bringOutfit(page);

  const run = page.getByRole("button", { name: "Change outfit" });
  await run.click();
  await expect(page.getByRole("alert").filter({ hasText: "Please confirm this first" })).toBeVisible();
  await page.getByRole("checkbox", { name: /shows an adult who agrees/ }).click();

  // Before the node is drained: a page that asks again what the studio can do says there that no worker runs.
  await expect(result.getByText(/Preview composite/)).toBeVisible();
  const release = await holdJobs(browser);
  const statuses = await record(result, { selector: "[role=status]" });
  await run.click();
  await expect(result.getByText(/^Waiting /)).toBeVisible();
  await release();

  const slider = result.getByRole("slider", { name: "Before and after" });
  await expect(slider).toBeVisible({ timeout: 120_000 });
  const seen = await statuses();
  expect(seen[0]).toMatch(/^Waiting (in the queue|for a worker)$/);
  expect(
    seen.some((text) => /Finding|Fitting|Cutting|Putting/.test(text)),
    seen.join(", "),
  ).toBe(true);
  expect(await documents.evaluate(({ same }) => same)).toBe(true);

  await slider.press("ArrowLeft");
  await expect(slider).toHaveAttribute("aria-valuenow", "45");
  await slider.press("Home");
  await expect(slider).toHaveAttribute("aria-valuenow", "0");
  const box = await result.getByRole("img", { name: "The person in the new outfit" }).boundingBox();
  if (box === null) throw new Error("The result is not shown.");
  const middle = box.y + box.height / 2;
  await page.mouse.move(box.x + box.width * 0.25, middle);
  await page.mouse.down();
  await expect(slider).toHaveAttribute("aria-valuenow", "25");
  await page.mouse.move(box.x + box.width * 0.75, middle, { steps: 4 });
  await page.mouse.up();
  await expect(slider).toHaveAttribute("aria-valuenow", "75");
  await expect(result.getByText("Made with AI")).toBeVisible();

  await result.getByRole("button", { name: "Try another garment" }).click();
  await expect(page.getByRole("region", { name: "Garment" }).getByText("What do they wear?")).toBeVisible();
  await expect(page.getByRole("region", { name: "Person" }).getByRole("img")).toBeVisible();

  await page.getByRole("link", { name: "Gallery" }).click();
  await expect(page.getByRole("button", { name: /^Outfit change, / })).toBeVisible();
});
