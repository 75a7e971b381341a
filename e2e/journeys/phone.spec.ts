import { chooseFiles } from "../steps/choose-files.ts";
import { chooseMode } from "../steps/choose-mode.ts";
import { samplePath } from "../steps/samples.ts";
import { beGuest } from "../steps/be-guest.ts";
import { tapUntil } from "../steps/tap-until.ts";
import { uploadSample } from "../steps/upload-sample.ts";
import { expect, test } from "../test.ts";

test("A5 @phone an outfit is changed on a phone", async ({ page }) => {
  await page.goto("/");
  await chooseFiles(page.getByRole("button", { name: "Choose a photo" }), samplePath("astronaut.png"));
  await expect(page.getByRole("region", { name: "Person" }).getByRole("img")).toBeVisible();
  await chooseFiles(page.getByRole("button", { name: "Choose a garment" }), samplePath("garment_hoodie.jpg"));
  await expect(page.getByRole("region", { name: "Garment" }).getByRole("img")).toBeVisible();
  await page.getByRole("checkbox", { name: /shows an adult who agrees/ }).tap();
  await page.getByRole("button", { name: "Change outfit" }).tap();

  const result = page.getByRole("region", { name: "Result" });
  const slider = result.getByRole("slider", { name: "Before and after" });
  await expect(slider).toBeVisible({ timeout: 120_000 });
  await expect(slider).toBeInViewport();
  await result.getByRole("link", { name: "Edit" }).tap();
  await expect(page.getByRole("application", { name: "Picture to paint on" })).toBeVisible();
});

test("@all A5 @phone the tools of a prompt have one row, those that have no room in it are in a menu", async ({
  page,
}) => {
  await beGuest(page);
  await page.goto("/create");
  const more = page.getByRole("button", { name: "Prompt tools" });
  const modes = page.getByRole("radiogroup", { name: "What is made" });
  const middleOf = async (part: typeof more) => {
    const { y = 0, height = 0 } = (await part.boundingBox()) ?? {};
    return Math.round(y + height / 2);
  };
  await expect(more).toBeVisible();
  expect(await middleOf(more)).toBe(await middleOf(modes));
  await more.tap();
  await page.getByRole("menuitem", { name: "Styles" }).tap();
  await expect(page.getByRole("dialog", { name: "Styles" })).toBeVisible();
});

test("@all D1 @phone the frame of an expansion is pulled by a finger, at handles of 44 px", async ({
  page,
}) => {
  await beGuest(page);
  await page.goto(`/edit/${await uploadSample(page, "coffee.png")}`);
  await chooseMode(page, "Expand");
  const frame = page.getByRole("application", { name: /Frame of the expanded picture/ });
  await expect(frame).toHaveAccessibleName(/600 × 400/);
  await expect.poll(async () => (await frame.boundingBox())?.width ?? 0).toBeGreaterThan(100);
  const input = await page.context().newCDPSession(page);
  const touch = (type: "touchStart" | "touchMove" | "touchEnd", x = 0, y = 0) =>
    input.send("Input.dispatchTouchEvent", { type, touchPoints: type === "touchEnd" ? [] : [{ x, y }] });
  const pull = async (from: { x: number; y: number }, to: { x: number; y: number }) => {
    await touch("touchStart", from.x, from.y);
    await touch("touchMove", (from.x + to.x) / 2, (from.y + to.y) / 2);
    await touch("touchMove", to.x, to.y);
    await touch("touchEnd");
  };
  const box = await frame.boundingBox();
  if (box === null) throw new Error("there is no frame");
  const corner = { x: box.x + box.width, y: box.y + box.height };
  // At the outer edge of the handle, 20 px from its middle.
  await pull({ x: corner.x + 20, y: corner.y + 20 }, { x: corner.x + 20 + box.width / 10, y: corner.y + 20 });
  await expect(frame).toHaveAccessibleName(/(659|66\d) × 400/);
  const undo = page.getByRole("button", { name: "Undo", exact: true });
  await tapUntil(undo, async () => /600 × 400/.test((await frame.getAttribute("aria-label")) ?? ""));
  await expect(frame).toHaveAccessibleName(/600 × 400/);
});
