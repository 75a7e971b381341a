import { beGuest } from "../steps/be-guest.ts";
import { countChanges } from "../steps/count-changes.ts";
import { paintLine } from "../steps/paint-line.ts";
import { shownImageId } from "../steps/shown-image-id.ts";
import { uploadSample } from "../steps/upload-sample.ts";
import { expect, test } from "../test.ts";

const pictureWidth = 600;
const spoon = { from: { x: 400, y: 300 }, to: { x: 470, y: 250 }, pictureWidth };
const corner = { from: { x: 60, y: 60 }, to: { x: 130, y: 60 }, pictureWidth };

test("@all D1 an object is painted over and goes; undone and erased marks leave no trace", async ({
  page,
}) => {
  await beGuest(page);
  const id = await uploadSample(page, "coffee.png");
  await page.goto(`/edit/${id}`);
  const tools = page.getByRole("toolbar", { name: "Tools" });
  const remove = page.getByRole("button", { name: "Remove object", exact: true });
  await expect(page.getByRole("button", { name: "Brush", exact: true })).toHaveAttribute(
    "aria-pressed",
    "true",
  );
  await expect(remove).toBeDisabled();

  await paintLine(page, corner);
  await expect(remove).toBeEnabled();
  await tools.getByRole("button", { name: "Undo" }).click();
  await expect(remove).toBeDisabled();
  await tools.getByRole("button", { name: "Redo" }).click();
  await expect(remove).toBeEnabled();

  await paintLine(page, spoon);
  await tools.getByRole("button", { name: "Eraser" }).click();
  const wider = { from: { x: 40, y: 60 }, to: { x: 150, y: 60 }, pictureWidth };
  await paintLine(page, wider);
  await paintLine(page, { ...wider, from: { x: 40, y: 50 }, to: { x: 150, y: 70 } });
  await remove.click();

  const versions = page.getByRole("list", { name: "Versions" });
  await expect(versions.getByRole("button", { name: "Version 2" })).toHaveAttribute("aria-current", "true", {
    timeout: 120_000,
  });
  const picture = page.getByRole("img", { name: "The picture you edit" });
  await expect.poll(() => shownImageId(picture)).not.toBe(id);
  const after = await shownImageId(picture);
  const marked = { x: 425, y: 265, width: 20, height: 20 };
  expect(await countChanges(page, { before: id, after, box: marked })).toBeGreaterThan(200);
  const unmarked = { x: 0, y: 0, width: 300, height: 400 };
  expect(await countChanges(page, { before: id, after, box: unmarked })).toBe(0);
  await expect(remove, "marks belong to the version they were made on").toBeDisabled();
});

test("D1 @all a palm beside the pen neither paints nor ends the stroke, and a finger then moves the picture", async ({
  page,
}) => {
  await beGuest(page);
  const id = await uploadSample(page, "coffee.png");
  await page.goto(`/edit/${id}`);
  const picture = page.getByRole("img", { name: "The picture you edit" });
  const remove = page.getByRole("button", { name: "Remove object", exact: true });
  await expect(remove).toBeDisabled();
  // Until its bytes are there it has no size.
  await expect.poll(async () => (await picture.boundingBox())?.width).toBeGreaterThan(200);
  const box = await picture.boundingBox();
  if (!box) throw new Error("no picture");
  const input = await page.context().newCDPSession(page);
  const at = (x: number, y: number) => ({ x: box.x + x, y: box.y + y });
  // A palm is known by its time beside that of the pen, which a busy machine must not stretch.
  let timestamp = Date.now() / 1_000;
  const soon = () => (timestamp += 0.02);
  let isBesidePen = true;
  const pen = (type: "mousePressed" | "mouseMoved" | "mouseReleased", x: number, y: number) =>
    input.send("Input.dispatchMouseEvent", {
      type,
      ...at(x, y),
      button: "left",
      buttons: type === "mouseReleased" ? 0 : 1,
      pointerType: "pen",
      timestamp: soon(),
    });
  const touch = (type: "touchStart" | "touchMove" | "touchEnd", x = 0, y = 0) =>
    input.send("Input.dispatchTouchEvent", {
      type,
      touchPoints: type === "touchEnd" ? [] : [at(x, y)],
      timestamp: Math.max(soon(), isBesidePen ? 0 : Date.now() / 1_000),
    });
  await pen("mousePressed", 60, 60);
  await pen("mouseMoved", 80, 60);
  await touch("touchStart", 150, 150);
  await touch("touchMove", 190, 170);
  await pen("mouseMoved", 100, 60);
  await touch("touchEnd");
  await pen("mouseReleased", 110, 60);
  await expect(remove).toBeEnabled();
  expect(await picture.boundingBox()).toEqual(box);
  const tools = page.getByRole("toolbar", { name: "Tools" });
  await tools.getByRole("button", { name: "Undo" }).click();
  await expect(remove, "it was one stroke").toBeDisabled();
  isBesidePen = false;
  await expect(async () => {
    await touch("touchStart", 150, 150);
    await touch("touchMove", 200, 150);
    await touch("touchEnd");
    expect((await picture.boundingBox())?.x).toBeGreaterThan(box.x + 20);
  }).toPass();
  await expect(remove).toBeDisabled();
});
