import { beAdmin } from "../steps/be-admin.ts";
import { findBarriers } from "../steps/find-barriers.ts";
import { sidewaysPx } from "../steps/sideways-px.ts";
import { startSimulatedModel } from "../steps/start-simulator.ts";
import { expect, test } from "../test.ts";

let stop: () => Promise<void> = () => Promise.resolve();
test.beforeEach(async ({ llmPort }) => {
  stop = await startSimulatedModel(llmPort);
});
test.afterEach(() => stop());

test("@all an admin tries a draft beside the active prompt, stores it, and tries it again", async ({
  page,
}) => {
  await beAdmin(page);
  await page.goto("/admin/assistant");
  await page.getByRole("button", { name: "New version: Responder" }).click();
  await page.getByRole("textbox", { name: "Prompt of the Responder" }).fill("Answer with one sentence.");
  await page.getByRole("button", { name: "Try the draft of the Responder" }).click();
  const draft = page.getByRole("region", { name: "Try the draft of the Responder" });
  await expect(draft.getByText("Its tools do nothing")).toBeVisible();
  await draft.getByRole("textbox", { name: "Question" }).fill("Which colours suit me?");
  await draft.getByRole("button", { name: "Try it" }).click();
  for (const name of ["Version 1, active", "Draft"]) {
    const side = draft.getByRole("region", { name });
    await expect(side.getByText('you asked "Which colours suit me?"')).toBeVisible();
    await expect(side.getByText(/tokens in, .* out · cost: \$0\.00$/)).toBeVisible();
  }
  await draft.getByRole("textbox", { name: "Question" }).fill("Show me the red dress");
  await draft.getByRole("button", { name: "Try again" }).click();
  await expect(draft.getByText("search_gallery")).toHaveCount(2);
  expect(await findBarriers(page)).toEqual([]);
  await page.setViewportSize({ width: 390, height: 844 });
  await expect.poll(() => sidewaysPx(page)).toBe(0);

  await page.getByRole("button", { name: "Store version" }).click();
  await page.locator("summary", { hasText: "Version 2" }).click();
  await page.getByRole("button", { name: "Try version 2 of the Responder" }).click();
  const stored = page.getByRole("region", { name: "Try version 2 of the Responder" });
  await expect(stored.getByRole("textbox", { name: "Question" })).toHaveValue("Show me the red dress");
  await stored.getByRole("button", { name: "Try it" }).click();
  await expect(stored.getByRole("region", { name: "Version 2" })).toBeVisible();
});

test("@all what a draft of the assembler makes of the own memory is seen without a model", async ({
  page,
}) => {
  await stop();
  await beAdmin(page);
  await page.goto("/assistant/memory");
  await page.getByLabel("Remember this").fill("I wear size M");
  await page.getByRole("button", { name: "Remember", exact: true }).click();
  await expect(page.getByText("I wear size M")).toBeVisible();
  await page.goto("/admin/assistant");
  await page.getByRole("button", { name: "New version: Assembler" }).click();
  await page.getByRole("textbox", { name: "Prompt of the Assembler" }).fill("Known facts:\n{memory}");
  await page.getByRole("button", { name: "Try the draft of the Assembler" }).click();
  const draft = page.getByRole("region", { name: "Try the draft of the Assembler" });
  await draft.getByRole("textbox", { name: "Question" }).fill("Which size do I wear?");
  await draft.getByRole("button", { name: "Try it" }).click();
  const side = draft.getByRole("region", { name: "Draft" });
  await expect(side.getByText(/^Known facts:\s+- .* I wear size M$/).first()).toBeVisible();
  await expect(side.getByText(/of them of memory/)).toBeVisible();
});
