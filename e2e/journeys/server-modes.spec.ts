import type { Page } from "@playwright/test";
import { beGuest } from "../steps/be-guest.ts";
import { chooseMode } from "../steps/choose-mode.ts";
import { chooseFiles } from "../steps/choose-files.ts";
import { countChanges } from "../steps/count-changes.ts";
import { drag, expectMask, openEditor, pictureWidth, type Point } from "../steps/edit-picture.ts";
import { dropFiles } from "../steps/drop-files.ts";
import { findBarriers } from "../steps/find-barriers.ts";
import { samplePath } from "../steps/samples.ts";
import { sameSite } from "../steps/same-site.ts";
import { shownImageId } from "../steps/shown-image-id.ts";
import { startSimulator } from "../steps/start-simulator.ts";
import { uploadSample } from "../steps/upload-sample.ts";
import { expect, test } from "../test.ts";

/** The server is looked for every ten seconds, and the page asks every fifteen. */
const serverFoundMs = 120_000;

const frameOf = (page: Page) => page.getByRole("application", { name: /Frame of the expanded picture/ });

/** Pulls the right side of the frame by a part of its width. */
async function pullRight(page: Page, share: number): Promise<void> {
  const box = await frameOf(page).boundingBox();
  if (box === null) throw new Error("there is no frame");
  const y = box.y + box.height / 2;
  await page.mouse.move(box.x + box.width, y);
  await page.mouse.down();
  await page.mouse.move(box.x + box.width * (1 + share), y, { steps: 4 });
  await page.mouse.up();
}

test.describe("with a ComfyUI server (SIMULATOR)", () => {
  let stop: () => Promise<void>;
  test.beforeAll(async ({ comfyPort }) => {
    stop = await startSimulator(comfyPort, { mode: "new" });
  });
  test.afterAll(() => stop());

  test("@all D1 a photo grows beyond its sides by shape, frame and number, and stays as it was inside", async ({
    page,
  }) => {
    await beGuest(page);
    const id = await uploadSample(page, "coffee.png");
    await page.goto(`/edit/${id}`);
    await chooseMode(page, "Expand");
    const frame = frameOf(page);
    const apply = page.getByRole("button", { name: "Expand", exact: true });
    await expect(frame).toHaveAccessibleName(/600 × 400/);
    await expect(page.getByText("Pull the frame outwards, or choose a shape.")).toBeVisible({
      timeout: serverFoundMs,
    });
    await expect(apply).toBeDisabled();

    await page.getByRole("radio", { name: "16:9" }).click();
    await expect(frame).toHaveAccessibleName(/711 × 400/);
    await page.getByRole("button", { name: "Upright" }).click();
    await expect(frame).toHaveAccessibleName(/600 × 1,067/);
    await page.keyboard.press("Control+z");
    await expect(frame).toHaveAccessibleName(/711 × 400/);
    await page.keyboard.press("Control+z");
    await expect(frame).toHaveAccessibleName(/600 × 400/);
    await page.keyboard.press("Control+Shift+z");
    await expect(frame).toHaveAccessibleName(/711 × 400/);
    await page.getByRole("button", { name: "Reset" }).click();
    await expect(frame).toHaveAccessibleName(/600 × 400/);

    await expect.poll(async () => (await frame.boundingBox())?.width ?? 0).toBeGreaterThan(100);
    await pullRight(page, 0.2);
    await expect(frame).toHaveAccessibleName(/(719|72\d) × 400/);
    await page.keyboard.press("Control+z");
    await expect(frame, "one drag is one step").toHaveAccessibleName(/600 × 400/);
    const right = page.getByRole("textbox", { name: "Right, added px" });
    await right.fill("100");
    await right.press("Enter");
    const top = page.getByRole("textbox", { name: "Top, added px" });
    await top.fill("50");
    await top.press("ArrowUp");
    await expect(frame).toHaveAccessibleName(/700 × 458/);
    await top.fill("5000");
    await top.press("Enter");
    await expect(page.getByText("One side can grow by 4,096 px at most.")).toBeVisible();
    await expect(apply).toBeDisabled();
    await top.fill("50");
    await top.press("Enter");
    await frame.press("Shift+Alt+ArrowDown");
    await frame.press("Alt+ArrowUp");
    await expect(frame).toHaveAccessibleName(/700 × 451/);
    await expect(top).toHaveValue("51");
    await page.getByRole("textbox", { name: "Prompt for what is added" }).fill("a wooden table");
    await expect(page.getByText(/^On your server with .*, free\. Starts .*, runs /)).toBeVisible();
    await expect(apply).toBeEnabled();
    expect(await findBarriers(page)).toEqual([]);

    await expect(page.getByRole("status").filter({ hasText: /^Saved$/ })).toBeVisible();
    await page.reload();
    await expect(frame).toHaveAccessibleName(/700 × 451/);
    await expect(page.getByRole("textbox", { name: "Prompt for what is added" })).toHaveValue(
      "a wooden table",
    );
    await apply.click();
    const versions = page.getByRole("list", { name: "Versions" });
    await expect(versions.getByRole("button", { name: "Version 2" })).toHaveAttribute("aria-current", "true");
    await expect(frame, "the margins are in the version").toHaveAccessibleName(/700 × 451/);
    await expect(apply).toBeDisabled();
    const picture = page.getByRole("img", { name: "The picture you edit" });
    await expect.poll(() => shownImageId(picture)).not.toBe(id);
    // But for the seam of 16 px along the sides that grew.
    const comparison = {
      before: id,
      after: await shownImageId(picture),
      box: { x: 0, y: 20, width: 580, height: 380 },
      moved: { x: 0, y: 51 },
    };
    await expect.poll(() => countChanges(page, comparison)).toBe(0);

    await page.getByRole("radio", { name: "4", exact: true }).click();
    await page.getByRole("radio", { name: "1:1" }).click();
    await expect(frame).toHaveAccessibleName(/700 × 700/);
    await apply.click();
    const strip = page.getByRole("region", { name: "Candidates" });
    await expect(strip.getByRole("button", { name: "Candidate 4" })).toBeVisible({ timeout: 120_000 });
    await page.keyboard.press("Enter");
    await expect(versions.getByRole("button", { name: /^Version 3/ })).toHaveAttribute(
      "aria-current",
      "true",
    );
    await expect(frame).toHaveAccessibleName(/700 × 700/);
  });

  test("@all D1 a background is painted by a prompt, and what stands out stays pixel by pixel", async ({
    page,
  }) => {
    await beGuest(page);
    const id = await uploadSample(page, "astronaut.png");
    await page.goto(`/edit/${id}`);
    await chooseMode(page, "Background");
    await page.getByRole("radio", { name: "Prompt", exact: true }).click();
    const paint = page.getByRole("button", { name: "Paint background", exact: true });
    await expect(page.getByText("Describe the change in the prompt.")).toBeVisible({
      timeout: serverFoundMs,
    });
    await expect(paint).toBeDisabled();
    await page.getByRole("textbox", { name: "Prompt for the background" }).fill("a hall of mirrors");
    await expect(page.getByText(/^On your server with .*, free\. Starts .*, runs /)).toBeVisible();
    expect(await findBarriers(page)).toEqual([]);
    await paint.click();
    const versions = page.getByRole("list", { name: "Versions" });
    await expect(versions.getByRole("button", { name: "Version 2" })).toHaveAttribute("aria-current", "true");
    const picture = page.getByRole("img", { name: "The picture you edit" });
    await expect.poll(() => shownImageId(picture)).not.toBe(id);
    const after = await shownImageId(picture);
    const changes = (x: number, y: number, side: number) =>
      countChanges(page, { before: id, after, box: { x, y, width: side, height: side } });
    // Her face and her chest; the flag and the shuttle behind her.
    await expect.poll(() => changes(200, 95, 50)).toBe(0);
    await expect.poll(() => changes(180, 300, 60)).toBe(0);
    await expect.poll(() => changes(5, 5, 40)).toBeGreaterThan(1_000);
    await expect.poll(() => changes(440, 150, 40)).toBeGreaterThan(1_000);
  });

  test("D1 @all where nothing stands out a painted background is refused with the reason, for four candidates too", async ({
    page,
  }) => {
    await beGuest(page);
    await page.goto("/gallery");
    const drawn = await page.evaluate(() => {
      const canvas = document.createElement("canvas");
      [canvas.width, canvas.height] = [320, 240];
      canvas.getContext("2d")?.fillRect(0, 0, 320, 240);
      return canvas.toDataURL("image/png").split(",")[1] ?? "";
    });
    const file = { name: "black.png", mimeType: "image/png", buffer: Buffer.from(drawn, "base64") };
    const answer = await page.request.post("/api/v1/uploads", { multipart: { file }, ...sameSite() });
    const { id }: { id: string } = await answer.json();
    await page.goto(`/edit/${id}`);
    await chooseMode(page, "Background");
    await page.getByRole("radio", { name: "Prompt", exact: true }).click();
    await page.getByRole("textbox", { name: "Prompt for the background" }).fill("a hall of mirrors");
    await page.getByRole("radio", { name: "4", exact: true }).click();
    const paint = page.getByRole("button", { name: "Paint background", exact: true });
    await expect(paint).toBeEnabled({ timeout: serverFoundMs });
    await paint.click();
    await expect(page.getByText("Nothing stands out", { exact: true }).first()).toBeVisible();
    await expect(paint).toBeEnabled();
    await expect(page.getByRole("button", { name: /^Version 2/ })).toHaveCount(0);
  });

  test("D1 @all an edit takes three references, dropped, uploaded and of the gallery", async ({ page }) => {
    await beGuest(page);
    const [id, first] = [await uploadSample(page, "coffee.png"), await uploadSample(page, "chelsea.png")];
    await page.goto(`/edit/${id}`);
    await chooseMode(page, "Edit");
    const references = page.getByRole("list", { name: "Reference pictures" });
    const add = references.getByRole("button", { name: "Add a reference picture" });
    await expect(add).toBeVisible({ timeout: serverFoundMs });
    await page.getByRole("button", { name: /^Use chelsea/ }).click();
    await expect(references.getByRole("img", { name: "Reference picture 1" })).toBeVisible();
    await chooseFiles(add, samplePath("rocket.jpg"));
    await expect(references.getByRole("img", { name: "Reference picture 2" })).toBeVisible();
    await dropFiles(page.locator("body"), [samplePath("garment_tee.jpg")]);
    await expect(references.getByRole("img", { name: "Reference picture 3" })).toBeVisible();
    await expect(add).toHaveCount(0);
    // One more has no place here; it is not lost.
    await dropFiles(page.locator("body"), [samplePath("garment_hoodie.jpg")]);
    await page.getByRole("button", { name: "Remove reference picture 2" }).click();
    await expect(page.getByRole("button", { name: /^Use garment_hoodie/ })).toBeVisible();
    await expect(references.getByRole("img")).toHaveCount(2);
    await expect(add).toBeVisible();
    expect(await findBarriers(page)).toEqual([]);

    await page.getByRole("textbox", { name: "Prompt for the whole picture" }).fill("the cat drinks it");
    const submitted = page.waitForRequest(/jobs\.submit/);
    await page.getByRole("button", { name: "Edit with a prompt", exact: true }).click();
    const versions = page.getByRole("list", { name: "Versions" });
    await expect(versions.getByRole("button", { name: "Version 2" })).toHaveAttribute("aria-current", "true");
    const sent = (await submitted).postData() ?? "";
    expect(sent).toContain(`"image":"${id}","reference":"${first}","reference2":"`);
    expect(sent).not.toContain("reference3");
  });

  test("D1 Replace runs with the model, strength and seeds that were chosen, and reopens as it was left", async ({
    page,
  }) => {
    const on = await openEditor(page);
    await chooseMode(page, "Replace");
    const model = page.getByRole("combobox", { name: "Model" });
    const settings = page.getByRole("button", { name: /^Settings( changed)?$/ });
    await drag(page, [on({ x: 100, y: 100 }), on({ x: 300, y: 200 })]);
    await expect(model).toHaveText("Automatic", { timeout: serverFoundMs });
    await page.getByRole("textbox", { name: "Prompt for the masked area" }).fill("moss");
    await settings.click();
    await expect(page.getByRole("slider", { name: "Strength" }), "Flux Fill takes none").toHaveCount(0);

    await model.focus();
    await page.keyboard.press("Enter");
    await page.getByRole("option", { name: "Automatic" }).press("ArrowDown");
    await page.keyboard.press("ArrowDown");
    await page.keyboard.press("Enter");
    await expect(model).toHaveText("Stable Diffusion XL, soft inpaint");
    await expect(
      page.getByText(/^On your server with Stable Diffusion XL, soft inpaint, free\./),
    ).toBeVisible();
    await expect(settings).toHaveAccessibleName("Settings");
    const strength = page.getByRole("textbox", { name: "Strength" });
    await expect(strength).toHaveValue("0.85");
    await strength.fill("0.1");
    await strength.press("Enter");
    await expect(strength, "the least that it takes").toHaveValue("0.6");
    await page.getByRole("textbox", { name: "Negative prompt" }).fill("mushrooms");
    await page.getByRole("radiogroup", { name: "Seed" }).getByRole("radio", { name: "Fixed" }).click();
    const seed = page.getByRole("textbox", { name: "Seed, a number" });
    await seed.fill("41");
    await seed.press("Enter");
    await expect(settings).toHaveAccessibleName("Settings changed");
    expect(await findBarriers(page)).toEqual([]);

    await expect(page.getByRole("status").filter({ hasText: /^Saved$/ })).toBeVisible();
    await page.reload();
    await expect(model).toHaveText("Stable Diffusion XL, soft inpaint");
    await expect(settings).toHaveAccessibleName("Settings changed");
    await page.getByRole("radio", { name: "2", exact: true }).click();
    await page.getByRole("button", { name: "Replace with prompt", exact: true }).click();
    const strip = page.getByRole("region", { name: "Candidates" });
    await expect(strip.getByRole("button", { name: "Candidate 2" })).toBeVisible({ timeout: 120_000 });
    const answer = await page.request.get("/api/v1/jobs?kind=inpaint");
    const { items }: { items: readonly { params: { seed: number } }[] } = await answer.json();
    const params = { prompt: "moss", negativePrompt: "mushrooms", strength: 0.6 };
    expect(items.toSorted((a, b) => a.params.seed - b.params.seed)).toMatchObject(
      [41, 42].map((each) => ({
        workflow: "inpaint_any_differential",
        params: { ...params, seed: each },
      })),
    );
    await page.keyboard.press("Enter");

    await page.getByRole("button", { name: "Reset", exact: true }).click();
    await expect(settings).toBeFocused();
    await expect(settings).toHaveAccessibleName("Settings");
    await settings.press("Enter");
    await expect(strength).toHaveValue("0.85");

    await page.getByRole("button", { name: "Settings of this version" }).click();
    const made = page.getByRole("dialog", { name: "Settings of this version" });
    await expect(made).toContainText("mushrooms");
    expect(await findBarriers(page)).toEqual([]);
    await made.getByRole("button", { name: "Use these settings" }).click();
    await expect(made).toBeHidden();
    await expect(strength).toHaveValue("0.6");
    await expect(seed).toHaveValue("41");
  });

  test("@all D2 things are selected by click, by a box and by words with the mouse, by a box from the keyboard too", async ({
    page,
  }) => {
    const on = await openEditor(page);
    const tools = page.getByRole("toolbar", { name: "Tools" });
    await tools.getByRole("button", { name: "Select by click" }).click({ timeout: serverFoundMs });
    const actions = page.getByRole("complementary", { name: "Actions" });
    const clear = async () => {
      await expect(page.getByText("Selecting", { exact: true })).toBeHidden();
      await actions.getByRole("button", { name: "Clear", exact: true }).click();
    };
    const click = ({ x, y }: Point) => page.mouse.click(x, y);
    await click(on({ x: 150, y: 150 }));
    await expectMask(page, [
      [150, 150, true],
      [500, 350, false],
    ]);
    await clear();
    await drag(page, [on({ x: 400, y: 100 }), on({ x: 500, y: 200 })]);
    await expectMask(page, [
      [450, 150, true],
      [350, 150, false],
      [150, 150, false],
    ]);
    await clear();
    await actions.getByRole("textbox", { name: "Select by words" }).fill("cup");
    await actions.getByRole("button", { name: "Select", exact: true }).click();
    await expectMask(page, [
      [300, 200, true],
      [20, 20, false],
    ]);
    await clear();
    await actions.getByRole("radio", { name: "Box" }).click();
    await click(on({ x: 60, y: 60 }));
    await click(on({ x: 160, y: 160 }));
    await expectMask(page, [
      [110, 110, true],
      [210, 110, false],
    ]);
    await clear();

    const stage = page.getByRole("application", { name: "Picture to paint on" });
    await stage.focus();
    const press = async (...keys: readonly string[]) => {
      for (const key of keys) await page.keyboard.press(key);
    };
    // Left without a selection: else the one after it would be refused while it runs.
    await press("ArrowRight", "Enter", "Shift+ArrowLeft", "Escape", "Shift+ArrowRight");
    await press("Enter", "Shift+ArrowRight", "Shift+ArrowDown", "Enter");
    const far = await stage.evaluate(
      (element, width) =>
        (64 * width) / (element.querySelector("img")?.getBoundingClientRect().width ?? width),
      pictureWidth,
    );
    await expectMask(page, [
      [Math.round(300 + 0.6 * far), Math.round(200 + 0.5 * far), true],
      [Math.round(300 + 1.4 * far), Math.round(200 + 0.5 * far), false],
      [Math.round(300 - 0.5 * far), Math.round(200 + 0.5 * far), false],
    ]);
    expect(await findBarriers(page)).toEqual([]);
  });
});
