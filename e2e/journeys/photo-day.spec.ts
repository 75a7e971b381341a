import { beGuest } from "../steps/be-guest.ts";
import { findBarriers } from "../steps/find-barriers.ts";
import { uploadSample } from "../steps/upload-sample.ts";
import { expect, test } from "../test.ts";

test("@all the day of a picture is changed by hand, a selection is shifted, and both are undone", async ({
  page,
}) => {
  await beGuest(page);
  const scan = await uploadSample(page, "coffee.png");
  await uploadSample(page, "rocket.jpg");
  await page.goto(`/gallery?image=${scan}`);
  const viewer = page.getByRole("dialog", { name: "Picture" });
  await viewer.getByRole("button", { name: "Information" }).click();
  await viewer.getByRole("button", { name: "Change date" }).click();
  const dialog = page.getByRole("dialog", { name: "Change date" });
  expect(await findBarriers(page)).toEqual([]);
  await expect(dialog.getByRole("button", { name: "Back to the original date" })).toHaveCount(0);
  await dialog.getByLabel("Day and time").fill("2016-07-12T10:11:12");
  await dialog.getByRole("button", { name: "Change", exact: true }).click();
  await expect(page.getByText("Date of 1 picture changed")).toBeVisible();
  await expect(dialog).toHaveCount(0);
  const taken = viewer.getByText(/Jul 12, 2016/);
  await expect(taken).toBeVisible();
  await page.getByRole("button", { name: "Undo" }).click();
  await expect(taken).toHaveCount(0);
  await viewer.getByRole("button", { name: "Change date" }).click();
  await dialog.getByLabel("Day and time").fill("2016-07-12T10:11:12");
  await dialog.getByRole("button", { name: "Change", exact: true }).click();
  await expect(taken).toBeVisible();
  await page.keyboard.press("Escape");
  await expect(viewer).toHaveCount(0);
  const day = page.getByRole("heading", { name: /July 12, 2016/ });
  await expect(day).toBeVisible();

  await page.getByRole("checkbox", { name: "Select coffee" }).click();
  await page.getByRole("toolbar", { name: "Selection" }).getByRole("button", { name: "Process" }).click();
  await page.getByRole("menuitem", { name: "Change date" }).click();
  await dialog.getByRole("button", { name: "Back to the original date" }).click();
  await expect(day).toHaveCount(0);
  await page.getByRole("checkbox", { name: "Select rocket" }).click();
  await page.getByRole("toolbar", { name: "Selection" }).getByRole("button", { name: "Process" }).click();
  await page.getByRole("menuitem", { name: "Change date" }).click();
  await dialog.getByRole("radio", { name: "Shift all" }).click();
  await dialog.getByRole("radio", { name: "Earlier" }).click();
  await dialog.getByLabel("Days").fill("1");
  expect(await findBarriers(page)).toEqual([]);
  await dialog.getByRole("button", { name: "Change", exact: true }).click();
  await expect(page.getByText("Dates of 2 pictures changed")).toBeVisible();
  await expect(page.getByRole("heading", { name: /^Yesterday/ })).toBeVisible();
});

test("@all a slideshow goes through the list, pauses by space, and ends with Escape above the viewer", async ({
  page,
}) => {
  await beGuest(page);
  const last = await uploadSample(page, "coffee.png");
  const second = await uploadSample(page, "chelsea.png");
  const first = await uploadSample(page, "rocket.jpg");
  await page.goto(`/gallery?image=${first}`);
  const viewer = page.getByRole("dialog", { name: "Picture" });
  await expect(viewer.getByRole("img", { name: "rocket" })).toBeVisible();
  await page.keyboard.press("p");
  const show = page.getByRole("group", { name: "Slideshow" });
  await expect(show).toBeFocused();
  expect(await findBarriers(page)).toEqual([]);
  await show.getByRole("radio", { name: "3 s" }).click();
  await expect(page).toHaveURL(new RegExp(second), { timeout: 15_000 });
  await show.getByRole("img", { name: "chelsea" }).click();
  await page.keyboard.press("Space");
  await expect(show.getByRole("button", { name: "Go on" })).toBeVisible();
  const atPause = page.url();
  await page.keyboard.press("ArrowRight");
  await expect(page).toHaveURL(new RegExp(last));
  await page.keyboard.press("ArrowLeft");
  await expect(page).toHaveURL(atPause);
  await test.step("a button that was clicked leaves the arrows to the show, and Tab goes to nothing below it", async () => {
    await show.getByRole("button", { name: "Next" }).click();
    await expect(page).toHaveURL(new RegExp(last));
    await page.keyboard.press("ArrowLeft");
    await expect(page).toHaveURL(atPause);
    const below: string[] = [];
    for (let press = 0; press < 10; press += 1) {
      await page.keyboard.press("Tab");
      below.push(
        ...(await show.evaluate((room) => {
          const active = document.activeElement;
          const isBelow = active?.closest("button, a, input, textarea") && !room.contains(active);
          return isBelow ? [active?.getAttribute("aria-label") ?? active?.textContent ?? ""] : [];
        })),
      );
    }
    expect(below).toEqual([]);
  });
  await page.keyboard.press("Escape");
  await expect(show).toHaveCount(0);
  await expect(viewer.getByRole("img", { name: "chelsea" })).toBeVisible();
  await expect.poll(() => viewer.evaluate((room) => room.contains(document.activeElement))).toBe(true);
  await viewer.getByRole("button", { name: "Process" }).press("Enter");
  await page.getByRole("menuitem", { name: "Slideshow" }).press("Enter");
  await expect(show.getByRole("radio", { name: "3 s" })).toBeChecked();
  await expect(page).toHaveURL(new RegExp(last), { timeout: 15_000 });
  await show.getByRole("button", { name: "End the slideshow" }).click();
  await expect(show).toHaveCount(0);
});
