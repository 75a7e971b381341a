import { readFile } from "node:fs/promises";
import { beGuest } from "../steps/be-guest.ts";
import { chooseFiles } from "../steps/choose-files.ts";
import { findBarriers } from "../steps/find-barriers.ts";
import { openCreate } from "../steps/open-create.ts";
import { samplePath } from "../steps/samples.ts";
import { startSimulator } from "../steps/start-simulator.ts";
import { expect, test } from "../test.ts";

/** The server is looked for every ten seconds, and the page asks every fifteen. */
const serverFoundMs = 120_000;
const madeMs = 120_000;

test.describe("@all with a newer ComfyUI server (SIMULATOR)", () => {
  let stop: () => Promise<void>;
  test.beforeAll(async ({ comfyPort }) => {
    stop = await startSimulator(comfyPort, { mode: "new" });
  });
  test.afterAll(() => stop());

  test("pictures go with a prompt in their roles and order, and what a workflow does not take is said first", async ({
    page,
  }) => {
    await beGuest(page);
    const { prompt, make } = await openCreate(page);
    await prompt.fill("The jacket on a chair");
    await expect(make).toBeEnabled({ timeout: serverFoundMs });

    await page.getByRole("button", { name: "Add reference pictures" }).click();
    const picker = page.getByRole("dialog", { name: "Add reference pictures" });
    await expect(picker.getByText(/takes no pictures\./)).toBeVisible();
    expect(await findBarriers(page)).toEqual([]);
    await chooseFiles(
      picker.getByRole("button", { name: "Upload pictures" }),
      samplePath("garment_hoodie.jpg"),
    );
    const list = page.getByRole("list", { name: "Reference pictures" });
    await expect(list.getByRole("listitem")).toHaveCount(1);
    await expect(page.getByText("Z-Image Turbo takes no pictures.")).toBeVisible();
    await expect(make).toBeDisabled();
    expect(await findBarriers(page)).toEqual([]);
    await page.getByRole("button", { name: "Use Flux 2 Klein" }).click();
    await expect(page.getByText("Flux 2 Klein takes pictures for: Subject (up to 3).")).toBeVisible();
    await expect(make).toBeEnabled();

    const bytes = (await readFile(samplePath("astronaut.png"))).toString("base64");
    const dropped = await page.evaluateHandle((text) => {
      const files = new DataTransfer();
      const content = Uint8Array.from(atob(text), (sign) => sign.codePointAt(0) ?? 0);
      files.items.add(new File([content], "person.png", { type: "image/png" }));
      return files;
    }, bytes);
    await prompt.dispatchEvent("drop", { dataTransfer: dropped });
    await expect(list.getByRole("listitem")).toHaveCount(2);
    const first = list.getByRole("listitem").first();
    const nameOfFirst = await first.getByRole("img").getAttribute("alt");
    await list.getByRole("button", { name: /^Move .*, 2 of 2$/ }).press("ArrowUp");
    await expect(first.getByRole("img")).not.toHaveAttribute("alt", nameOfFirst ?? "");
    await page.reload();
    await expect(first.getByRole("img")).not.toHaveAttribute("alt", nameOfFirst ?? "");

    const sent = page.waitForRequest((request) => /jobs\.submit/.test(request.url()));
    await make.click();
    expect((await sent).postData()).toMatch(/"reference":"[0-9a-f-]{36}","reference2":"[0-9a-f-]{36}"/);
    await page.getByRole("button", { name: "Open: The jacket on a chair" }).click({ timeout: madeMs });
    const viewer = page.getByRole("dialog");
    await viewer.getByRole("link", { name: "Remix" }).click();
    await expect(list.getByRole("listitem")).toHaveCount(2);

    await list
      .getByRole("button", { name: /^Take / })
      .last()
      .click();
    await list.getByRole("combobox", { name: /^What .* is for$/ }).click();
    await expect(page.getByRole("option", { name: /^Structure/ })).toBeHidden();
    await page.keyboard.press("Escape");
    await page.getByRole("combobox", { name: "Workflow" }).click();
    await page.getByRole("option", { name: /^Z-Image Turbo, structure/ }).click();
    await expect(page.getByText("Z-Image Turbo, structure takes no picture for: Subject.")).toBeVisible();
    await list.getByRole("combobox", { name: /^What .* is for$/ }).click();
    await page.getByRole("option", { name: /^Structure/ }).click();
    const strength = list.getByRole("slider", { name: "Strength: Structure" });
    await strength.press("ArrowRight");
    const again = page.waitForRequest((request) => /jobs\.submit/.test(request.url()));
    await make.click();
    expect((await again).postData()).toMatch(/"structureStrength":0\.85/);
    expect((await again).postData()).toMatch(/"structure":"[0-9a-f-]{36}"/);
  });

  test("a picture of the gallery and of the palette becomes a reference", async ({ page }) => {
    await beGuest(page);
    await page.goto("/gallery");
    await chooseFiles(page.getByRole("button", { name: "Upload" }).first(), samplePath("garment_hoodie.jpg"));
    await page.locator("[data-tile]").first().click({ timeout: madeMs });
    const viewer = page.getByRole("dialog");
    await viewer.getByRole("button", { name: "Process" }).click();
    await page.getByRole("menuitem", { name: "Use as a reference" }).click();
    const list = page.getByRole("list", { name: "Reference pictures" });
    await expect(list.getByRole("listitem")).toHaveCount(1);
    await expect(page).toHaveURL(/\/create$/);
    await list.getByRole("button", { name: /^Take / }).click();
    await expect(list).toBeHidden();
    await page.keyboard.press("Control+k");
    await page.keyboard.type("reference pictures");
    await page.keyboard.press("Enter");
    await expect(page.getByRole("dialog", { name: "Add reference pictures" })).toBeVisible();
  });
});
