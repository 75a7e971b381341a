import { writeFile } from "node:fs/promises";
import { carriedExamples, exifWith, jpegWithExif, pngWithTexts } from "@atelier/testing/carried";
import { beGuest } from "../steps/be-guest.ts";
import { chooseFiles } from "../steps/choose-files.ts";
import { dropFiles } from "../steps/drop-files.ts";
import { findBarriers } from "../steps/find-barriers.ts";
import { keepMessage } from "../steps/keep-message.ts";
import { samplePath } from "../steps/samples.ts";
import { expect, test } from "../test.ts";

test("@all a picture of another program fills Create, and what differs here is said first", async ({
  page,
}, testInfo) => {
  await beGuest(page);
  const listed = Promise.withResolvers<void>();
  await page.route(/workflows\.listed/, async (route) => {
    await listed.promise;
    await route.continue();
  });
  await page.goto("/create");
  const file = testInfo.outputPath("fox.png");
  await writeFile(file, await pngWithTexts({ parameters: carriedExamples.a1111 }));
  await chooseFiles(page.getByRole("button", { name: "Settings of a picture…" }), file);
  const dialog = page.getByRole("dialog", { name: "Settings of this picture" });
  await expect(dialog.getByText("a red fox, in snow,")).toBeVisible();
  await expect(dialog.getByText("A1111 or a program that writes as it does")).toBeVisible();
  const use = dialog.getByRole("button", { name: "Use these settings" });
  await expect(use).toBeDisabled();
  listed.resolve();
  await expect(dialog.getByText("goes without this LoRA: fur_detail")).toBeVisible();
  expect(await findBarriers(page)).toEqual([]);
  await use.click();
  await expect(dialog).toBeHidden();
  await expect(page.getByRole("textbox", { name: "Prompt", exact: true })).toHaveValue(
    /^a red fox, in snow,/,
  );
  await expect(page.getByRole("textbox", { name: "Negative prompt" })).toHaveValue("blurry, text");
  await expect(page.getByRole("combobox", { name: "Workflow" })).toHaveText(/Stable Diffusion XL/);
  await expect(page.getByRole("textbox", { name: "Seed, a number" })).toHaveValue("123456");
  await expect(page.getByRole("textbox", { name: "Steps" })).toHaveValue("28");
});

test("@all a picture that is dropped on Create beside the prompt shows its settings, or says that it has none and goes to the gallery", async ({
  page,
}, testInfo) => {
  await beGuest(page);
  await page.goto("/create");
  const file = testInfo.outputPath("fox.jpg");
  await writeFile(file, await jpegWithExif(exifWith(carriedExamples.swarmui)));
  const prompt = page.getByRole("textbox", { name: "Prompt", exact: true });
  // On the prompt it would become a reference.
  const beside = page.getByRole("heading", { name: "Create", level: 1 });
  const dialog = page.getByRole("dialog", { name: "Settings of this picture" });
  // It comes last, within what takes the file: before that the frame would send it to the gallery.
  await expect(page.getByRole("combobox", { name: "Workflow" })).toBeVisible();
  await dropFiles(beside, [file]);
  await expect(dialog.getByText("SwarmUI")).toBeVisible();
  await dialog.getByRole("button", { name: "Use these settings" }).click();
  await expect(prompt).toHaveValue("a red fox in snow");

  await expect(dialog).toBeHidden();
  // It goes by itself, and letting go of a file may take its time.
  const told = expect(
    page.getByText("This picture carries no settings that can be read. It goes to the gallery."),
  ).toBeVisible();
  await dropFiles(beside, [samplePath("astronaut.png")]);
  await told;
  await page.getByRole("link", { name: "Gallery", exact: true }).click();
  await expect(page.locator("[data-tile]")).toHaveCount(1);
});

test("@all a picture that goes to the gallery offers its settings to Create", async ({ page }, testInfo) => {
  await beGuest(page);
  await page.goto("/gallery");
  const file = testInfo.outputPath("fox.png");
  await writeFile(file, await pngWithTexts({ prompt: carriedExamples.comfyui }));
  const kept = keepMessage(page, "Its settings");
  await chooseFiles(page.getByRole("button", { name: "Upload" }).first(), file);
  await kept;
  await expect(page.getByText("This picture says how it was made")).toBeVisible();
  expect(await findBarriers(page)).toEqual([]);
  await page.getByRole("button", { name: "Its settings" }).click();
  const dialog = page.getByRole("dialog", { name: "Settings of this picture" });
  await expect(dialog.getByText("ComfyUI")).toBeVisible();
  await dialog.getByRole("button", { name: "Use these settings" }).click();
  await expect(page.getByRole("textbox", { name: "Prompt", exact: true })).toHaveValue("a red fox in snow");
});
