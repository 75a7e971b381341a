import { beGuest } from "../steps/be-guest.ts";
import { keepMessage } from "../steps/keep-message.ts";
import { readSize } from "../steps/read-size.ts";
import { uploadSample } from "../steps/upload-sample.ts";
import { expect, test } from "../test.ts";

test("@all pictures are turned by key, in the viewer and as a selection, with undo, and keep their stars and their place", async ({
  page,
}) => {
  await beGuest(page);
  const rocketId = await uploadSample(page, "rocket.jpg", 96);
  await uploadSample(page, "astronaut.png", 64);
  await page.goto("/gallery");
  const { width, height } = await readSize(page, rocketId);
  expect(width).not.toBe(height);
  const sheet = page.getByRole("group", { name: "Pictures", exact: true });
  const rocket = sheet.getByRole("button", { name: /^rocket/ });
  const shown = async () => readSize(page, (await rocket.getAttribute("data-tile")) ?? "");
  const [upright, turned] = [
    { width, height },
    { width: height, height: width },
  ];

  await rocket.focus();
  await page.keyboard.press("3");
  await page.keyboard.press("r");
  await expect(rocket).not.toHaveAttribute("data-tile", rocketId);
  expect(await shown()).toEqual(turned);
  await expect(rocket).toHaveAccessibleName("rocket, stack of 2");
  await expect(rocket).toBeFocused();
  await expect(sheet.getByRole("img", { name: "3 stars" })).toBeVisible();
  await expect(sheet.locator("[data-tile]").nth(1)).toHaveAccessibleName(/^rocket/);
  await keepMessage(page);
  await page.getByRole("button", { name: "Undo" }).first().click();
  await expect(rocket).toHaveAttribute("data-tile", rocketId);

  // A press that comes while the picture is being turned turns it further.
  await rocket.press("r");
  await expect(page.getByText("Turning the picture", { exact: true }).first()).toBeVisible();
  await rocket.press("r");
  await expect(rocket).toHaveAccessibleName("rocket, stack of 3");
  expect(await shown()).toEqual(upright);
  for (const _turn of [1, 2]) {
    await keepMessage(page);
    await page.getByRole("button", { name: "Undo" }).first().click();
  }
  await expect(rocket).toHaveAttribute("data-tile", rocketId);

  await rocket.press("Enter");
  const viewer = page.getByRole("dialog", { name: "Picture" });
  await expect(viewer.getByRole("img", { name: "rocket" })).toBeVisible();
  // Twice is half a turn, as one further version.
  await page.keyboard.press("Shift+R");
  await page.keyboard.press("Shift+R");
  await expect(page).not.toHaveURL(new RegExp(rocketId));
  const halfId = new URL(page.url()).searchParams.get("image") ?? "";
  expect(await readSize(page, halfId)).toEqual(upright);
  await expect(viewer.getByRole("list", { name: "Stack" }).getByRole("button")).toHaveCount(2);
  await viewer.getByRole("button", { name: "Process" }).click();
  await page.getByRole("menuitem", { name: "Turn left" }).click();
  await expect(page).not.toHaveURL(new RegExp(halfId));
  await viewer.getByRole("button", { name: "Close" }).click();
  expect(await shown()).toEqual(turned);

  await page.keyboard.press("Control+a");
  const bar = page.getByRole("toolbar", { name: "Selection" });
  await bar.getByRole("button", { name: "Process" }).click();
  await page.getByRole("menuitem", { name: "Turn right" }).click();
  await expect(page.getByText("Turning 2 pictures", { exact: true })).toBeVisible();
  await expect.poll(shown).toEqual(upright);
  await expect(sheet.getByRole("button", { name: "astronaut, stack of 2" })).toBeVisible();
  await expect(bar.getByRole("status")).toContainText("2 selected");
});

test.describe("many", () => {
  // The first part is too large for a guest.
  test.use({ expectedError: /status of 429/ });

  test("@all more pictures than a guest may have open jobs are turned part after part, and one Undo takes all of it back", async ({
    page,
  }) => {
    await beGuest(page);
    for (let at = 0; at < 23; at += 1) await uploadSample(page, "rocket.jpg", 64 + at);
    await page.goto("/gallery");
    const sheet = page.getByRole("group", { name: "Pictures", exact: true });
    await expect(sheet.locator("[data-tile]").first()).toBeVisible();
    await page.keyboard.press("Control+a");
    const bar = page.getByRole("toolbar", { name: "Selection" });
    await expect(bar.getByRole("status")).toContainText("23 selected");
    await page.keyboard.press("r");
    await expect(page.getByText("Turning 23 pictures", { exact: true })).toBeVisible();
    await expect(page.getByText("23 pictures turned", { exact: true })).toBeVisible({ timeout: 120_000 });
    await expect(bar.getByRole("status")).toContainText("46 pictures");
    await keepMessage(page);
    await page.getByRole("button", { name: "Undo" }).first().click();
    await expect(bar.getByRole("status")).not.toContainText("46 pictures");
    await expect(sheet.getByRole("button", { name: /stack of/ })).toHaveCount(0);
    await expect(bar.getByRole("status")).toContainText("23 selected");
  });
});
