import type { Page } from "@playwright/test";
import { beGuest } from "../steps/be-guest.ts";
import { drag, expectMask, openEditor, pictureWidth, type Point } from "../steps/edit-picture.ts";
import { findBarriers } from "../steps/find-barriers.ts";
import { tapUntil } from "../steps/tap-until.ts";
import { uploadSample } from "../steps/upload-sample.ts";
import { expect, test } from "../test.ts";

const toolsOf = (page: Page) => page.getByRole("toolbar", { name: "Tools" });
const choose = (page: Page, name: string) => toolsOf(page).getByRole("button", { name }).click();

test("@all D1 areas are marked by mouse: lasso, polygon, rectangle and ellipse, with Ctrl taken away", async ({
  page,
}) => {
  // As in older Safari, and everywhere over plain http on a LAN address.
  await page.addInitScript(() => Reflect.deleteProperty(PointerEvent.prototype, "getCoalescedEvents"));
  const on = await openEditor(page);
  await choose(page, "Lasso");
  await drag(
    page,
    [
      { x: 100, y: 100 },
      { x: 200, y: 100 },
      { x: 200, y: 200 },
      { x: 100, y: 200 },
    ].map(on),
  );
  await expectMask(page, [
    [150, 150, true],
    [90, 150, false],
    [210, 150, false],
  ]);
  await test.step("a polygon is clicked from corner to corner, Backspace takes one back, and the first closes it", async () => {
    const corners = [
      { x: 300, y: 100 },
      { x: 400, y: 100 },
      { x: 500, y: 350 },
    ].map(on);
    for (const { x, y } of corners) await page.mouse.click(x, y);
    await page.keyboard.press("Backspace");
    const last = on({ x: 350, y: 200 });
    await page.mouse.click(last.x, last.y);
    const [first] = corners;
    if (first !== undefined) await page.mouse.click(first.x, first.y);
    await expectMask(page, [
      [350, 150, true],
      [450, 300, false],
      [150, 150, true],
    ]);
  });
  await test.step("Escape leaves a polygon that was begun", async () => {
    const { x, y } = on({ x: 450, y: 250 });
    await page.mouse.click(x, y);
    await page.keyboard.press("Escape");
    const undo = toolsOf(page).getByRole("button", { name: "Undo" });
    await undo.click();
    await expectMask(page, [
      [350, 150, false],
      [150, 150, true],
    ]);
    await toolsOf(page).getByRole("button", { name: "Redo" }).click();
  });
  await choose(page, "Rectangle and ellipse");
  await page.keyboard.down("Control");
  await drag(page, [on({ x: 120, y: 120 }), on({ x: 180, y: 180 })]);
  await page.keyboard.up("Control");
  await expectMask(page, [
    [150, 150, false],
    [110, 110, true],
  ]);
  const actions = page.getByRole("complementary", { name: "Actions" });
  await actions.getByRole("radio", { name: "Ellipse" }).click();
  await drag(page, [on({ x: 400, y: 220 }), on({ x: 560, y: 380 })]);
  await expectMask(page, [
    [480, 300, true],
    [405, 300, true],
    [410, 230, false],
  ]);
  await test.step("the whole mask grows, is inverted and cleared, and comes back", async () => {
    await actions.getByRole("textbox", { name: "Distance in pixels" }).fill("20");
    await actions.getByRole("button", { name: "Grow" }).click();
    await expectMask(page, [
      [388, 300, true],
      [372, 300, false],
    ]);
    await actions.getByRole("button", { name: "Invert" }).click();
    await expectMask(page, [
      [480, 300, false],
      [20, 20, true],
    ]);
    await actions.getByRole("button", { name: "Clear" }).click();
    await expectMask(page, [[20, 20, false]]);
    await expect(page.getByRole("button", { name: "Remove object", exact: true })).toBeDisabled();
    await toolsOf(page).getByRole("button", { name: "Undo" }).click();
    await expectMask(page, [[20, 20, true]]);
  });
});

test("D1 D5 E8 every tool and the whole mask work by keyboard alone", async ({ page }) => {
  await openEditor(page);
  const stage = page.getByRole("application", { name: "Picture to paint on" });
  await stage.focus();
  const press = async (...keys: readonly string[]) => {
    for (const key of keys) await page.keyboard.press(key);
  };
  // The cursor begins in the middle.
  await press("ArrowRight", "Enter");
  await expectMask(page, [
    [310, 200, true],
    [200, 200, false],
  ]);
  await press("x", "Enter");
  await expect(toolsOf(page).getByRole("button", { name: "Eraser" })).toHaveAttribute("aria-pressed", "true");
  await expectMask(page, [[310, 200, false]]);
  await press("m", "Enter", "Shift+ArrowRight", "Shift+ArrowDown", "Enter");
  await expectMask(page, [[325, 215, true]]);
  await press("Control+d");
  await expectMask(page, [[325, 215, false]]);
  await press("l", "Enter", "Shift+ArrowRight", "Enter", "Shift+ArrowDown", "Enter", "Enter");
  // The cursor began 16 px, a third of the brush, beside the middle; a far step is 64 px of the screen.
  const width = await stage.evaluate(
    (element) => element.querySelector("img")?.getBoundingClientRect().width,
  );
  const far = (64 * pictureWidth) / (width ?? pictureWidth);
  await expectMask(page, [
    [Math.round(316 + 1.8 * far), Math.round(200 + 1.3 * far), true],
    [Math.round(316 + 1.2 * far), Math.round(200 + 1.8 * far), false],
  ]);
  await press("Control+a");
  await expectMask(page, [
    [5, 5, true],
    [595, 395, true],
  ]);
  await press("i");
  await expectMask(page, [[5, 5, false]]);
  await press("Control+z");
  await expectMask(page, [[5, 5, true]]);
  await press("Control+Shift+z");
  await expectMask(page, [[5, 5, false]]);
  await press("b", "]", "Shift+[");
  const actions = page.getByRole("complementary", { name: "Actions" });
  const hardness = actions.getByRole("slider", { name: "Hardness" });
  await expect(hardness).toHaveAttribute("aria-valuenow", "90");
  await test.step("keys are commands while a slider has the focus, and on keyboards of other letters", async () => {
    await hardness.focus();
    await press("ArrowLeft");
    await expect(hardness).not.toHaveAttribute("aria-valuenow", "90");
    await press("e");
    await expect(toolsOf(page).getByRole("button", { name: "Eraser" })).toHaveAttribute(
      "aria-pressed",
      "true",
    );
    await stage.focus();
    await stage.dispatchEvent("keydown", { key: "и", code: "KeyB", bubbles: true });
    await expect(toolsOf(page).getByRole("button", { name: "Brush" })).toHaveAttribute(
      "aria-pressed",
      "true",
    );
  });
  await expect(actions.getByRole("slider", { name: "Brush size" })).toHaveAttribute("aria-valuenow", "59");
  await press("1");
  await expect(page.getByRole("button", { name: "100 %, Show the whole picture" })).toBeVisible();
  await press("v", "ArrowRight", "0");
  await page.keyboard.down("\\");
  await expect(page.getByRole("img", { name: "The picture as it was at first" })).toBeVisible();
  await page.keyboard.up("\\");
  await expect(page.getByRole("img", { name: "The picture as it was at first" })).toBeHidden();
  expect(await findBarriers(page)).toEqual([]);
});

test("@all D2 the subject is selected on this computer, added to and kept", async ({ page }) => {
  await beGuest(page);
  const id = await uploadSample(page, "astronaut.png");
  await page.goto(`/edit/${id}`);
  const actions = page.getByRole("complementary", { name: "Actions" });
  await actions.getByRole("button", { name: "Subject" }).click();
  await expectMask(page, [
    [225, 110, true],
    [490, 60, false],
  ]);
  await expect(page.getByRole("button", { name: "Remove object", exact: true })).toBeEnabled();
  await expect(page.getByRole("status").filter({ hasText: "Saved" })).toBeVisible();
  await page.reload();
  await expectMask(page, [
    [225, 110, true],
    [490, 60, false],
  ]);
});

test("D1 @all a pen that is pressed harder paints wider, and its other end erases", async ({ page }) => {
  const on = await openEditor(page);
  const input = await page.context().newCDPSession(page);
  const pen = (type: "mousePressed" | "mouseMoved" | "mouseReleased", point: Point, force: number) =>
    input.send("Input.dispatchMouseEvent", {
      type,
      ...on(point),
      button: "left",
      buttons: type === "mouseReleased" ? 0 : 1,
      pointerType: "pen",
      force,
    });
  const strokeAt = async (y: number, force: number) => {
    await pen("mousePressed", { x: 100, y }, force);
    await pen("mouseMoved", { x: 200, y }, force);
    await pen("mouseReleased", { x: 200, y }, 0);
  };
  await strokeAt(100, 0.1);
  await strokeAt(250, 0.9);
  await expectMask(page, [
    [150, 100, true],
    [150, 112, false],
    [150, 250, true],
    [150, 268, true],
  ]);
  await page.getByRole("checkbox", { name: "Pen pressure sets the size" }).click();
  await strokeAt(350, 0.1);
  await expectMask(page, [[150, 368, true]]);
});

test("D5 @all a key is changed in the sheet of shortcuts, works, is kept, and goes back", async ({
  page,
}) => {
  await openEditor(page);
  await page.keyboard.press("?");
  const sheet = page.getByRole("dialog", { name: "Keyboard shortcuts" });
  await sheet.getByRole("button", { name: "Change the key of “Lasso”, now l" }).click();
  await page.keyboard.press("b");
  await expect(sheet.getByRole("button", { name: "Change the key of “Lasso”, now b" })).toBeVisible();
  await expect(sheet.getByRole("button", { name: "Change the key of “Brush”, now none" })).toBeVisible();
  await page.keyboard.press("Escape");
  await page.reload();
  const lasso = toolsOf(page).getByRole("button", { name: "Lasso" });
  await expect(lasso).toHaveAttribute("aria-pressed", "false");
  await expect(async () => {
    await page.keyboard.press("b");
    await expect(lasso).toHaveAttribute("aria-pressed", "true", { timeout: 500 });
  }).toPass();
  await page.keyboard.press("?");
  await sheet.getByRole("button", { name: "Keys as they were" }).click();
  await page.keyboard.press("Escape");
  // A key that is held is pressed once: two presses of `g` lead to the gallery.
  for (let index = 0; index < 3; index += 1) await page.keyboard.down("g");
  await page.keyboard.up("g");
  await page.keyboard.press("b");
  await expect(toolsOf(page).getByRole("button", { name: "Brush" })).toHaveAttribute("aria-pressed", "true");
  await expect(page).toHaveURL(/\/edit\//);
});

test("D1 A5 @phone on a touch screen a finger paints and encloses, and two move the picture without a mark", async ({
  page,
}) => {
  const on = await openEditor(page);
  const input = await page.context().newCDPSession(page);
  const touch = (type: "touchStart" | "touchMove" | "touchEnd", ...points: readonly Point[]) =>
    input.send("Input.dispatchTouchEvent", { type, touchPoints: points.map(on) });
  const draw = async (points: readonly Point[]) => {
    for (const [at, point] of points.entries()) await touch(at === 0 ? "touchStart" : "touchMove", point);
    await touch("touchEnd");
  };
  await draw([
    { x: 100, y: 100 },
    { x: 150, y: 100 },
    { x: 200, y: 100 },
  ]);
  await expectMask(page, [
    [150, 100, true],
    [150, 200, false],
  ]);
  const lasso = toolsOf(page).getByRole("button", { name: "Lasso" });
  await tapUntil(lasso, async () => (await lasso.getAttribute("aria-pressed")) === "true");
  await draw([
    { x: 300, y: 150 },
    { x: 400, y: 150 },
    { x: 400, y: 300 },
    { x: 300, y: 300 },
  ]);
  await expectMask(page, [[350, 220, true]]);
  const picture = page.getByRole("img", { name: "The picture you edit" });
  const before = await picture.boundingBox();
  await touch("touchStart", { x: 100, y: 300 });
  await touch("touchStart", { x: 100, y: 300 }, { x: 200, y: 300 });
  for (const x of [250, 300, 350]) await touch("touchMove", { x: 100, y: 300 }, { x, y: 300 });
  await touch("touchEnd");
  await expect
    .poll(async () => (await picture.boundingBox())?.width)
    .toBeGreaterThan((before?.width ?? 0) * 1.5);
  await expectMask(page, [
    [100, 300, false],
    [150, 100, true],
    [350, 220, true],
  ]);
});
