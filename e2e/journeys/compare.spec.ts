import type { Locator, Page } from "@playwright/test";
import { beGuest } from "../steps/be-guest.ts";
import { findBarriers } from "../steps/find-barriers.ts";
import { keepMessage } from "../steps/keep-message.ts";
import { sidewaysPx } from "../steps/sideways-px.ts";
import { submitJob } from "../steps/submit-job.ts";
import { tapUntil } from "../steps/tap-until.ts";
import { uploadSample } from "../steps/upload-sample.ts";
import { waitForResult } from "../steps/wait-for-result.ts";
import { expect, test } from "../test.ts";

const paneOf = (page: Page, letter: string) =>
  page.getByRole("application", { name: new RegExp(`^${letter}: `) });
const barOf = (page: Page, letter: string) => page.getByRole("toolbar", { name: `Picture ${letter}` });

const settingsOf = (page: Page) => page.getByRole("group", { name: "Settings that differ" });

async function widthOf(picture: Locator): Promise<number> {
  return (await picture.boundingBox())?.width ?? 0;
}

/** The part of a pane that lies left of the middle of its picture. */
async function middleOf(pane: Locator): Promise<number> {
  const [box, picture] = [await pane.boundingBox(), await pane.getByRole("img").boundingBox()];
  if (box === null || picture === null) throw new Error("The picture is not shown.");
  return Math.round((100 * (picture.x + picture.width / 2 - box.x)) / box.width);
}

test("what is selected is compared: zoom in step, stars, order and trash by keys, and back to the gallery as it was", async ({
  page,
}) => {
  await beGuest(page);
  await uploadSample(page, "rocket.jpg");
  const cup = await uploadSample(page, "coffee.png", 1_600);
  await uploadSample(page, "astronaut.png", 96);
  await page.goto("/gallery");
  for (const name of ["coffee", "rocket"])
    await page.getByRole("checkbox", { name: `Select ${name}` }).click();
  const selection = page.getByRole("toolbar", { name: "Selection" });
  await expect(selection.getByRole("button", { name: "Compare" })).toBeVisible();
  await page.keyboard.press("c");
  await expect(page).toHaveURL(/\/compare\?ids=/);
  const [a, b] = [paneOf(page, "A"), paneOf(page, "B")];
  await expect(a).toHaveAccessibleName("A: coffee");
  await expect(b).toHaveAccessibleName("B: rocket");
  expect(await findBarriers(page)).toEqual([]);

  // Pixel by pixel in the first one, and as much closer in the other one, which is smaller.
  const wholePx = [await widthOf(a.getByRole("img")), await widthOf(b.getByRole("img"))] as const;
  await page.keyboard.press("z");
  await expect(page.getByRole("button", { name: "100 %, Show the whole picture" })).toBeVisible();
  expect(await widthOf(a.getByRole("img"))).toBeCloseTo(1_600, 0);
  expect((await widthOf(b.getByRole("img"))) / wholePx[1]).toBeCloseTo(1_600 / wholePx[0], 1);
  const [before] = [await middleOf(b)];
  await page.keyboard.press("ArrowRight");
  await expect.poll(() => middleOf(b)).toBeLessThan(before);
  await page.keyboard.press("z");
  await expect.poll(() => widthOf(a.getByRole("img"))).toBeCloseTo(wholePx[0], 0);
  await a.dblclick();
  await expect(page.getByRole("button", { name: "100 %, Show the whole picture" })).toBeVisible();
  await b.hover();
  await page.mouse.wheel(0, 9_000);
  await expect.poll(() => widthOf(a.getByRole("img"))).toBeCloseTo(wholePx[0], 0);

  // The second one is looked at: rated, starred, and put before the first.
  await page.keyboard.press("ArrowRight");
  await expect(b).toBeFocused();
  await page.keyboard.press("4");
  await expect(barOf(page, "B").getByRole("button", { name: "4 stars" })).toHaveAttribute(
    "aria-pressed",
    "true",
  );
  await page.keyboard.press("s");
  await expect(barOf(page, "B").getByRole("button", { name: "Remove the star" })).toBeVisible();
  await page.keyboard.press("w");
  await expect(paneOf(page, "A")).toHaveAccessibleName("A: rocket");
  await expect(settingsOf(page).getByText("Size", { exact: true })).toBeVisible();

  await page.getByRole("radio", { name: "Slider" }).click();
  const slider = page.getByRole("slider", { name: "A and B" });
  await slider.press("End");
  await expect(slider).toHaveAttribute("aria-valuetext", "100 % A");
  await page.getByRole("radio", { name: "Difference" }).click();
  await expect(
    page.getByRole("application", { name: "What is different between the two pictures" }),
  ).toBeVisible();
  expect(await findBarriers(page)).toEqual([]);
  await page.getByRole("radio", { name: "Side by side" }).click();

  // Deleted, and back at its place.
  await paneOf(page, "B").focus();
  await page.keyboard.press("Delete");
  // The message about the stars may still be there, with an Undo of its own; the newest is the first.
  await expect(page.getByText("Picture deleted").first()).toBeVisible();
  await keepMessage(page);
  await expect(paneOf(page, "B")).toHaveCount(0);
  await expect(page.getByText(/One picture alone/)).toBeVisible();
  await page.getByRole("button", { name: "Undo" }).first().click();
  await expect(paneOf(page, "B")).toHaveAccessibleName("B: coffee");

  await page.keyboard.press("Escape");
  await expect(page).toHaveURL(/\/gallery$/);
  await expect(selection.getByRole("status")).toHaveText("2 selected");
  await expect(page.getByRole("checkbox", { name: "Select coffee" })).toBeChecked();
  // Once: not when the page is opened again.
  await page.reload();
  await expect(page.getByRole("button", { name: "rocket", exact: true })).toBeVisible();
  await expect(selection).toHaveCount(0);
  expect((await (await page.request.get(`/api/v1/images/${cup}`)).json()).rating).toBe(0);
});

test("@all what differs in the settings is shown, what is equal on demand; four pictures, one taken out and put back; C compares a stack", async ({
  page,
}) => {
  await beGuest(page);
  const image = await uploadSample(page, "rocket.jpg", 96);
  const made = [];
  for (const source of [image, await uploadSample(page, "astronaut.png", 64)]) {
    const jobId = await submitJob(page, { kind: "upscale", inputs: { image: source } });
    made.push(await waitForResult(page, jobId));
  }
  const cup = await uploadSample(page, "coffee.png", 96);
  await page.goto(`/compare?ids=${made.join(",")}`);
  const differing = settingsOf(page).locator("dl").first();
  await expect(differing.getByText("Size", { exact: true })).toBeVisible();
  await expect(differing.getByText("Made by")).toHaveCount(0);
  await page.getByText(/settings? (is|are) the same/).click();
  await expect(page.getByText("Made by")).toBeVisible();

  await page.goto(`/compare?ids=${[...made, image, cup].join(",")}`);
  await expect(paneOf(page, "D")).toHaveAccessibleName("D: coffee");
  await expect(page.getByRole("radio", { name: "Slider" })).toHaveCount(0);
  await paneOf(page, "C").focus();
  await page.keyboard.press("x");
  await keepMessage(page);
  await expect(paneOf(page, "C")).toHaveAccessibleName("C: coffee");
  await expect(paneOf(page, "C")).toBeFocused();
  await page.getByRole("button", { name: "Undo" }).first().click();
  await expect(paneOf(page, "D")).toHaveAccessibleName("D: coffee");
  for (const width of [390, 820, 1_440]) {
    await page.setViewportSize({ width, height: 844 });
    await expect.poll(() => sidewaysPx(page)).toBe(0);
    expect((await paneOf(page, "A").boundingBox())?.height ?? 0).toBeGreaterThan(60);
  }

  await page.goto(`/gallery?image=${image}`);
  const viewer = page.getByRole("dialog", { name: "Picture", exact: true });
  await expect(viewer.getByRole("button", { name: "Compare versions" })).toBeVisible();
  await page.keyboard.press("c");
  await expect(paneOf(page, "A")).toHaveAccessibleName(/^A: Upscale/);
  await expect(paneOf(page, "B")).toHaveAccessibleName("B: rocket");
  await page.getByRole("button", { name: "Back" }).click();
  await expect(viewer.getByRole("img", { name: "rocket" })).toBeVisible();
});

test.describe("where pictures are missing", () => {
  test.use({ expectedError: /status of 404/ });

  test("@all a picture that is gone or of somebody else is said to be so, and an address without pictures is no dead end", async ({
    page,
    browser,
  }) => {
    const other = await browser.newPage();
    await beGuest(other);
    const foreign = await uploadSample(other, "coffee.png", 96);
    await other.close();
    await beGuest(page);
    const own = await uploadSample(page, "rocket.jpg", 96);
    await page.goto(`/compare?ids=${own},${foreign},nonsense`);
    await expect(paneOf(page, "A")).toHaveAccessibleName("A: rocket");
    await expect(page.getByText("This picture is not here")).toBeVisible();
    await expect(page.getByRole("radio", { name: "Slider" })).toHaveCount(0);
    expect(await findBarriers(page)).toEqual([]);
    await page.getByRole("button", { name: "Take out of the comparison" }).last().click();
    await expect(page.getByText(/One picture alone/)).toBeVisible();

    const many = Array.from({ length: 49 }, (_, at) => own.slice(0, -2) + String(at + 10));
    await page.goto(`/compare?ids=${[own, ...many].join(",")}`);
    await expect(page.getByText(/The first four of (49|50) are shown/)).toBeVisible();
    for (const address of ["/compare", "/compare?ids=", "/compare?ids=foo,bar"]) {
      await page.goto(address);
      await expect(page.getByRole("heading", { name: "Nothing to compare" })).toBeVisible();
    }
    await page.getByRole("button", { name: "To the gallery" }).click();
    await expect(page.getByRole("button", { name: "rocket", exact: true })).toBeVisible();
  });
});

test("@all @phone two pictures are compared on a phone, by fingers and in one bar", async ({ page }) => {
  await beGuest(page);
  const ids = [await uploadSample(page, "rocket.jpg"), await uploadSample(page, "coffee.png")];
  await page.goto(`/compare?ids=${ids.join(",")}`);
  const [a, b] = [paneOf(page, "A"), paneOf(page, "B")];
  await expect(b.getByRole("img")).toHaveJSProperty("complete", true);
  const whole = await widthOf(a.getByRole("img"));
  const box = await a.boundingBox();
  if (box === null) throw new Error("The first pane is not shown.");
  const input = await page.context().newCDPSession(page);
  const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
  const touch = (type: "touchStart" | "touchMove" | "touchEnd", apart: number) =>
    input.send("Input.dispatchTouchEvent", {
      type,
      touchPoints:
        type === "touchEnd"
          ? []
          : [
              { x: x - apart, y, id: 0 },
              { x: x + apart, y, id: 1 },
            ],
    });
  await touch("touchStart", 20);
  await touch("touchMove", 40);
  await touch("touchMove", 60);
  await touch("touchEnd", 0);
  await expect.poll(async () => (await widthOf(a.getByRole("img"))) / whole).toBeCloseTo(3, 0);
  await expect.poll(async () => (await widthOf(b.getByRole("img"))) / whole).toBeGreaterThan(2);
  await tapUntil(b, () => barOf(page, "B").isVisible());
  await barOf(page, "B").getByRole("button", { name: "5 stars" }).tap();
  await expect(barOf(page, "B").getByRole("button", { name: "5 stars" })).toHaveAttribute(
    "aria-pressed",
    "true",
  );
  await expect.poll(() => sidewaysPx(page)).toBe(0);
  expect(await findBarriers(page)).toEqual([]);
});
