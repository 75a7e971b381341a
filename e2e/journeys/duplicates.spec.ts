import { readFile } from "node:fs/promises";
import type { Page } from "@playwright/test";
import sharp from "sharp";
import { beGuest } from "../steps/be-guest.ts";
import { findBarriers } from "../steps/find-barriers.ts";
import { keepMessage } from "../steps/keep-message.ts";
import { sameSite } from "../steps/same-site.ts";
import { samplePath } from "../steps/samples.ts";
import { sidewaysPx } from "../steps/sideways-px.ts";
import { uploadSample } from "../steps/upload-sample.ts";
import { expect, test } from "../test.ts";

async function upload(page: Page, name: string, buffer: Buffer): Promise<string> {
  const file = { name, mimeType: "image/jpeg", buffer };
  const answer = await page.request.post("/api/v1/uploads", { multipart: { file }, ...sameSite() });
  expect(answer.status(), await answer.text()).toBe(201);
  const { id }: { id: string } = await answer.json();
  return id;
}

const smaller = async (sample: "coffee.png" | "rocket.jpg", widthPx: number) =>
  sharp(await readFile(samplePath(sample)))
    .resize(widthPx)
    .jpeg({ quality: 70 })
    .toBuffer();

test("@all pictures that look the same are merged one by one, all at once, or kept, each with undo and by keys", async ({
  page,
}) => {
  await beGuest(page);
  await uploadSample(page, "coffee.png");
  await uploadSample(page, "astronaut.png");
  const small = await upload(page, "small cup.jpg", await smaller("coffee.png", 300));
  const facts = { rating: 4, starred: true, tags: ["cafe"] };
  const changed = await page.request.patch(`/api/v1/images/${small}`, { data: facts, ...sameSite() });
  expect(changed.status()).toBe(200);
  await page.goto("/gallery");
  await page.getByRole("link", { name: "Duplicates" }).click();
  await expect(page).toHaveURL(/\/gallery\/duplicates$/);

  const groups = page.getByRole("region", { name: /look the same/ });
  await expect(groups).toHaveCount(1);
  await expect(groups.getByText("Has the most pixels")).toBeVisible();
  await expect(groups.getByRole("radio", { name: "Keep coffee" })).toBeChecked();
  await expect(groups.getByText("cafe")).toBeVisible();
  expect(await findBarriers(page)).toEqual([]);

  const moved = expect(page.getByText("1 duplicate moved to the trash")).toBeVisible();
  await groups.getByRole("button", { name: "Keep one, move 1 to the trash" }).click();
  await moved;
  await expect(page.getByRole("heading", { name: "No duplicates" })).toBeVisible();
  await page.goto("/gallery?search=rating:4");
  await expect(page.locator("[data-tile][aria-label=coffee]")).toBeVisible();

  // Taken back from its message after a merge by key, with another choice.
  await page.goto("/gallery?search=is:trashed");
  await page.locator("[data-tile]").click();
  const restored = page.waitForResponse(/images\.restore/);
  await page.getByRole("button", { name: "Restore", exact: true }).click();
  await restored;
  await page.goto("/gallery/duplicates");
  await expect(groups).toHaveCount(1);
  await page.keyboard.press("j");
  await expect(groups.getByRole("radio", { name: "Keep coffee" })).toBeFocused();
  await page.keyboard.press("ArrowRight");
  await expect(groups.getByText("Your choice")).toBeVisible();
  await page.keyboard.press("Enter");
  await keepMessage(page);
  await expect(page.getByRole("heading", { name: "No duplicates" })).toBeVisible();
  await page.getByRole("button", { name: "Undo" }).click();
  await expect(groups).toHaveCount(1);

  await upload(page, "small rocket.jpg", await smaller("rocket.jpg", 300));
  await uploadSample(page, "rocket.jpg");
  await page.reload();
  await expect(groups).toHaveCount(2);
  await page.keyboard.press("j");
  const kept = expect(page.getByText("All stay, and are not shown here again")).toBeVisible();
  await page.keyboard.press("n");
  await kept;
  await expect(groups).toHaveCount(1);
  await page.reload();
  await expect(groups).toHaveCount(1);

  await page.getByRole("button", { name: "Merge 1 group" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Move 1 to the trash" }).click();
  await keepMessage(page);
  await expect(page.getByRole("heading", { name: "No duplicates" })).toBeVisible();
  await page.getByRole("button", { name: "Undo" }).click();
  await expect(groups).toHaveCount(1);

  await page.setViewportSize({ width: 390, height: 844 });
  await expect(groups.getByRole("button", { name: "Not duplicates" })).toBeVisible();
  await expect.poll(() => sidewaysPx(page)).toBe(0);
});
