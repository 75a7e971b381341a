import { writeFile } from "node:fs/promises";
import { beGuest } from "../steps/be-guest.ts";
import { chooseFiles } from "../steps/choose-files.ts";
import { dropFiles } from "../steps/drop-files.ts";
import { findBarriers } from "../steps/find-barriers.ts";
import { openCreate } from "../steps/open-create.ts";
import { startSimulator } from "../steps/start-simulator.ts";
import { expect, test } from "../test.ts";

/** The server is looked for every ten seconds, and the page asks every fifteen. */
const serverFoundMs = 120_000;
const madeMs = 120_000;

test.describe("with a ComfyUI server (SIMULATOR)", () => {
  let stop: () => Promise<void>;
  test.beforeAll(async ({ comfyPort }) => {
    stop = await startSimulator(comfyPort);
  });
  test.afterAll(() => stop());

  test("@all a prompt with choices, a list of one's own and a style shows what becomes of it, and a grid stands as a table", async ({
    page,
  }) => {
    await beGuest(page);
    const { prompt, make } = await openCreate(page);

    await prompt.fill("a {red|red fox");
    await expect(page.locator("[data-mark=fault]")).toHaveText("{");
    await expect(page.getByText(/A “\{” is not closed\..* Here: \{red\|red fox/)).toBeVisible();
    await prompt.fill("a red hat, ");
    await page.getByRole("button", { name: "Lists of words" }).click();
    const lists = page.getByRole("dialog", { name: "Lists of words" });
    await lists.getByRole("button", { name: "New list" }).click();
    await lists.getByRole("textbox", { name: "Name" }).fill("wearers");
    await lists.getByRole("textbox", { name: "Lines" }).fill("on a {fox|fox}\non a fox");
    await lists.getByRole("button", { name: "Save" }).click();
    expect(await findBarriers(page)).toEqual([]);
    await lists.getByRole("button", { name: /^__wearers__/ }).click();
    await expect(prompt).toHaveValue("a red hat, __wearers__");
    await expect(page.getByText("a red hat, on a fox").first()).toBeVisible();

    await page.getByRole("button", { name: "Styles", exact: true }).click();
    const styles = page.getByRole("dialog", { name: "Styles" });
    await styles.getByRole("button", { name: /^Ink drawing/ }).click();
    await styles.getByRole("button", { name: "Done" }).click();
    const chip = page.getByRole("list", { name: "Styles" }).getByRole("button");
    await expect(chip).toHaveText("Ink drawing");
    await expect(page.getByText(/^ink drawing of a red hat, on a fox, fine hatching/).first()).toBeVisible();

    await page.getByRole("radio", { name: "X/Y grid" }).click();
    await page.getByRole("textbox", { name: "Values of: Columns" }).fill("blue, green");
    await expect(page.getByText("“blue” is not in the prompt, so nothing would be replaced.")).toBeVisible();
    await expect(make).toBeDisabled();
    await page.getByRole("textbox", { name: "Values of: Columns" }).fill("red, green");
    await page.getByRole("textbox", { name: "Values of: Rows" }).fill("4-5");
    await expect(page.getByRole("button", { name: /^Generate 4 pictures/ })).toBeEnabled({
      timeout: serverFoundMs,
    });
    await expect(page.getByText(/^All 4 done in /)).toBeVisible();
    expect(await findBarriers(page)).toEqual([]);
    await make.click();
    await page.getByRole("link", { name: "Open the batch" }).click();
    await page.waitForURL(/\/batches\//);
    await expect(page.getByRole("main").getByRole("status")).toContainText("4 of 4 done", {
      timeout: madeMs,
    });
    await expect(page.getByRole("columnheader", { name: "green" })).toBeVisible();
    await expect(page.getByRole("rowheader", { name: "Steps 5" })).toBeVisible();

    await page.getByRole("button", { name: /^Open the picture: Steps 4, red/ }).click();
    const viewer = page.getByRole("dialog");
    await viewer.getByRole("button", { name: "Information" }).click();
    await expect(viewer.getByText(/^ink drawing of a red hat, on a fox/)).toBeVisible();
  });

  test("@all a checkpoint and a sampler of the server are chosen beside the prompt, and stand with the picture", async ({
    page,
  }) => {
    await beGuest(page);
    const { prompt, make } = await openCreate(page);
    await prompt.fill("A heron");
    await expect(make).toBeEnabled({ timeout: serverFoundMs });
    await page.getByRole("combobox", { name: "Workflow" }).click();
    await page.getByRole("option", { name: /^Checkpoint of your own/ }).click();
    // The first one is there at once, so that the click makes something.
    const checkpoint = page.getByRole("button", { name: /^Checkpoint: \S+\.safetensors$/ });
    await expect(make).toBeEnabled();
    await checkpoint.click();
    const picker = page.getByRole("dialog", { name: "Choose a checkpoint" });
    await picker.getByRole("searchbox", { name: "Search by name" }).fill("v1-5 fp16");
    await expect(picker.getByRole("listitem")).toHaveCount(1);
    expect(await findBarriers(page)).toEqual([]);
    await picker.getByRole("listitem").getByRole("button").click();
    await expect(picker).toBeHidden();
    await expect(checkpoint).toHaveText("v1-5-pruned-emaonly-fp16");
    const sampler = page.getByRole("combobox", { name: "Sampler", exact: true });
    await expect(sampler).toHaveText("As the workflow: dpmpp_2m_sde");
    await sampler.click();
    await page.getByRole("option", { name: "euler_ancestral", exact: true }).click();
    expect(await findBarriers(page)).toEqual([]);

    await make.click();
    await page.getByRole("button", { name: "Open: A heron" }).click({ timeout: madeMs });
    const viewer = page.getByRole("dialog");
    await viewer.getByRole("button", { name: "Information" }).click();
    await expect(viewer.getByText("v1-5-pruned-emaonly-fp16.safetensors")).toBeVisible();
    await expect(viewer.getByText("euler_ancestral")).toBeVisible();
    await page.goto("/create");
    await expect(checkpoint).toHaveText("v1-5-pruned-emaonly-fp16");
    await expect(sampler).toHaveText("euler_ancestral");
  });

  test("a LoRA, an earlier prompt and a favourite come back, also from the file of the picture", async ({
    page,
  }, testInfo) => {
    await beGuest(page);
    const { prompt, make } = await openCreate(page);
    await prompt.fill("An owl, {awake|awake}");
    await expect(make).toBeEnabled({ timeout: serverFoundMs });
    const loras = page.getByRole("region", { name: "LoRAs" });
    await loras.getByRole("button", { name: "Add" }).click();
    const picker = page.getByRole("dialog", { name: "Add a LoRA" });
    const choice = picker.getByRole("listitem").first().getByRole("button");
    const loraName = await choice.locator("span").first().innerText();
    await choice.click();
    const weight = loras.getByRole("textbox", { name: /^Weight of / });
    await weight.fill("0.7");
    await weight.press("Enter");
    expect(await findBarriers(page)).toEqual([]);

    await page.getByRole("button", { name: "Favourites" }).click();
    const favourites = page.getByRole("dialog", { name: "Favourites" });
    await favourites.getByRole("button", { name: "Keep these settings" }).click();
    await favourites.getByRole("textbox", { name: "Name" }).fill("Owl");
    await favourites.getByRole("button", { name: "Save" }).click();
    await favourites.getByRole("button", { name: "Done" }).click();

    await make.click();
    await page.getByRole("button", { name: "Open: An owl, awake" }).click({ timeout: madeMs });
    const viewer = page.getByRole("dialog");
    await viewer.getByRole("button", { name: "Information" }).click();
    await expect(viewer.getByText("An owl, {awake|awake}")).toBeVisible();
    const downloading = page.waitForEvent("download");
    await viewer.getByRole("link", { name: "Download with settings" }).click();
    const file = testInfo.outputPath("owl.png");
    await (await downloading).saveAs(file);
    await page.keyboard.press("Escape");

    await prompt.fill("something else");
    await prompt.press("Alt+ArrowUp");
    await expect(prompt).toHaveValue("An owl, {awake|awake}");
    await prompt.press("Alt+ArrowDown");
    await expect(prompt).toHaveValue("something else");

    await loras.getByRole("button", { name: /^Take / }).click();
    await expect(weight).toBeHidden();
    await prompt.fill(`An owl <lora:${loraName}:0.4>`);
    await expect(page.getByText(/in the prompt does nothing here/)).toBeVisible();
    await page.getByRole("button", { name: "Choose it there" }).click();
    await expect(prompt).toHaveValue("An owl");
    await expect(weight).toHaveValue("0.4");
    await loras.getByRole("button", { name: /^Take / }).click();
    await chooseFiles(page.getByRole("button", { name: "Settings of a picture…" }), file);
    const dialog = page.getByRole("dialog", { name: "Settings of this picture" });
    await expect(dialog.getByRole("region", { name: "What will differ here" })).toBeHidden();
    await dialog.getByRole("button", { name: "Use these settings" }).click();
    await expect(prompt).toHaveValue("An owl, awake");
    await expect(weight).toHaveValue("0.7");

    await page.getByRole("button", { name: "Favourites" }).click();
    await favourites.getByRole("button", { name: /^Owl/ }).click();
    await expect(prompt).toHaveValue("An owl, {awake|awake}");
    await page.getByRole("button", { name: "Favourites" }).click();
    await favourites.getByRole("button", { name: "Remove Owl" }).click();
    const removed = page.getByRole("dialog", { name: "Owl removed" });
    // From under the mouse it does not go.
    await removed.hover();
    await expect(favourites.getByRole("button", { name: /^Owl/ })).toBeHidden();
    await removed.getByRole("button", { name: "Undo" }).click();
    await expect(favourites.getByRole("button", { name: /^Owl/ })).toBeVisible();
  });

  test("@all a table of prompts that is dropped becomes a list, and the list one batch", async ({
    page,
  }, testInfo) => {
    await beGuest(page);
    const { prompt } = await openCreate(page);
    const file = testInfo.outputPath("prompts.csv");
    await writeFile(file, 'id,prompt\n1,"a fox, red"\n2,a hen\n');
    await dropFiles(prompt, [file]);
    await expect(prompt).toHaveValue("a fox, red\na hen");
    await expect(page.getByRole("radio", { name: "List" })).toBeChecked();
    await page.getByRole("textbox", { name: "Pictures of each prompt" }).fill("2");
    await page.getByRole("textbox", { name: "Pictures of each prompt" }).press("Enter");
    const make = page.getByRole("button", { name: /^Generate 4 pictures/ });
    await expect(make).toBeEnabled({ timeout: serverFoundMs });
    await make.click();
    await expect(page.getByRole("button", { name: "Open: a hen" }).first()).toBeVisible({ timeout: madeMs });
    await page.reload();
    await expect(prompt).toHaveValue("a fox, red\na hen");
  });
});
