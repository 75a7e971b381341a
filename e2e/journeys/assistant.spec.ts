import { answerByRules, startLlm } from "@atelier/testing/llm";
import { beGuest } from "../steps/be-guest.ts";
import { findBarriers } from "../steps/find-barriers.ts";
import { startSimulatedModel } from "../steps/start-simulator.ts";
import { uploadSample } from "../steps/upload-sample.ts";
import { expect, test } from "../test.ts";

let stop: () => Promise<void> = () => Promise.resolve();
test.beforeEach(async ({ llmPort }) => {
  stop = await startSimulatedModel(llmPort);
});
test.afterEach(() => stop());

test("B6 B7 a question is answered live, a proposal is approved, and its picture is shown in the talk", async ({
  page,
}) => {
  await beGuest(page);
  await uploadSample(page, "chelsea.png", 96);
  await page.goto("/assistant");
  const question = page.getByRole("textbox", { name: "Question" });
  await question.fill("What did we try with the red dress?");
  await question.press("Enter");
  await expect(page.getByText('you asked "What did we try with the red dress?"')).toBeVisible({
    timeout: 120_000,
  });
  await expect(page).toHaveURL(/\/assistant\?c=/);

  await question.fill("Upscale chelsea, please");
  await question.press("Enter");
  const proposal = page.getByRole("region", { name: "Proposal: Upscale" });
  await expect(proposal.getByText(/^On this computer, free\. Starts .*, runs /)).toBeVisible({
    timeout: 120_000,
  });
  await proposal.getByRole("button", { name: "Start it" }).click();
  await expect(proposal.getByRole("link", { name: "Open the result" })).toBeVisible({ timeout: 120_000 });

  await page.reload();
  await expect(proposal.getByRole("link", { name: "Open the result" })).toBeVisible();
  await test.step("on a phone its end stands above the field for the next question", async () => {
    const wide = page.viewportSize();
    await page.setViewportSize({ width: 390, height: 844 });
    await page.reload();
    await expect(proposal.getByRole("link", { name: "Open the result" })).toBeVisible();
    await expect
      .poll(async () => {
        const [card, field] = [await proposal.boundingBox(), await question.boundingBox()];
        return card && field ? field.y - card.y - card.height : null;
      })
      .toBeGreaterThan(16);
    if (wide) await page.setViewportSize(wide);
  });
  await question.fill("Show chelsea");
  await question.press("Enter");
  await expect(page.getByRole("link", { name: "Open the picture" }).first()).toBeVisible({
    timeout: 120_000,
  });
  await proposal.getByRole("link", { name: "Open the result" }).click();
  await expect(page.getByRole("dialog").getByRole("img", { name: /^Upscale/ })).toBeVisible();
});

test("B6 pictures are given to a question, opened from the talk, and asked about from the viewer", async ({
  page,
}) => {
  await beGuest(page);
  await uploadSample(page, "chelsea.png", 96);
  await uploadSample(page, "coffee.png", 96);
  await page.goto("/assistant");
  const question = page.getByRole("textbox", { name: "Question" });
  const given = page.getByRole("list", { name: "Pictures of the question" });
  await page.getByRole("button", { name: "Add pictures" }).press("ArrowDown");
  await page.getByRole("menuitem", { name: "From the gallery…" }).click();
  const picker = page.getByRole("dialog", { name: "Choose up to 4 pictures" });
  await picker.getByRole("button", { name: "Use chelsea" }).click();
  await picker.getByRole("button", { name: "Use coffee" }).click();
  await picker.getByRole("button", { name: "Use 2 pictures" }).click();
  await expect(given.getByRole("img")).toHaveCount(2);
  await expect(page.getByText("The model cannot see pictures")).toBeVisible();
  expect(await findBarriers(page)).toEqual([]);
  await given.getByRole("button", { name: "Take chelsea away" }).click();
  await expect(given.getByRole("img")).toHaveCount(1);
  await question.fill("What is on it?");
  await question.press("Enter");
  const turn = page.getByRole("article");
  await expect(turn.getByText(/you asked "What is on it\?/)).toBeVisible({ timeout: 120_000 });
  await expect(turn.getByText("The model did not see the pictures")).toBeVisible();
  await expect(turn.getByRole("button", { name: "Copy the answer" })).toBeVisible();
  expect(await findBarriers(page)).toEqual([]);

  await test.step("asked again, it has its pictures, of which the field says first who sees them", async () => {
    await turn.getByRole("button", { name: "Ask again" }).click();
    await expect(given.getByRole("img")).toHaveCount(1);
    await expect(page.getByText("The model cannot see pictures")).toBeVisible();
    await expect(question).toHaveValue("What is on it?");
    await page.getByRole("button", { name: "Ask", exact: true }).click();
    await expect(turn).toHaveCount(2);
    await expect(turn.last().getByRole("link", { name: "Open the picture" })).toBeVisible();
  });
  await turn.first().getByRole("link", { name: "Open the picture" }).click();
  const viewer = page.getByRole("dialog");
  await expect(viewer.getByRole("img", { name: "coffee" })).toBeVisible();
  await viewer.getByRole("button", { name: "Process" }).click();
  await page.getByRole("menuitem", { name: "Ask about it" }).click();
  await expect(given.getByRole("img", { name: "coffee" })).toBeVisible();
  await expect(page).toHaveURL(/\/assistant$/);
});

test("B1 a conversation begins though no further request of the page is answered", async ({ page }) => {
  await beGuest(page);
  await page.goto("/assistant");
  const question = page.getByRole("textbox", { name: "Question" });
  // Held for ever, as by a connection that went away.
  await page.route(/\/assistant\?/, () => {});
  await question.fill("What did we try with the grey hat?");
  await question.press("Enter");
  await expect(page.getByText('you asked "What did we try with the grey hat?"')).toBeVisible();
  await expect(page).toHaveURL(/\/assistant\?c=/);
  await page.getByRole("link", { name: "New conversation" }).click();
  await expect(page.getByRole("heading", { name: "What would you like to make?" })).toBeVisible();
  await page.getByRole("link", { name: /^What did we try with the grey hat/ }).click();
  await expect(page.getByText('you asked "What did we try with the grey hat?"')).toBeVisible();
});

test("B1 @all a question that is typed or entered while another is on its way or answered is asked after it", async ({
  page,
  llmPort,
}) => {
  await stop();
  const { promise: until, resolve: answer } = Promise.withResolvers<void>();
  const llm = await startLlm({
    port: llmPort,
    answer: (request) => {
      const reply = answerByRules(request);
      return reply.text?.includes("linen") ? { ...reply, until } : reply;
    },
  });
  stop = () => llm.close();
  await beGuest(page);
  await page.goto("/assistant");
  const question = page.getByRole("textbox", { name: "Question" });
  let pass: () => void = () => {};
  const isFree = new Promise<void>((resolve) => (pass = resolve));
  await page.route("**/api/trpc/assistant.ask**", async (route) => {
    await isFree;
    await route.continue();
  });
  await question.fill("What is a linen dress?");
  await question.press("Enter");
  await expect(question).toHaveValue("");
  await question.fill("And a cotton one?");
  pass();
  await expect(page.getByRole("button", { name: "Stop the answer" })).toBeVisible();
  await expect(page).toHaveURL(/\/assistant\?c=/);
  await expect(question).toHaveValue("And a cotton one?");

  const waits = page.getByText("Asked when this answer ends");
  await question.press("Enter");
  await expect(waits).toBeVisible();
  await question.press("Escape");
  await expect(waits).toHaveCount(0);
  await question.press("Enter");
  await expect(waits).toBeVisible();
  answer();
  await expect(page.getByText('you asked "And a cotton one?"')).toBeVisible();
  await expect(page.getByText('you asked "What is a linen dress?"')).toBeVisible();
  await expect(page.getByRole("article")).toHaveCount(2);
  await expect(question).toHaveValue("");
});

test("@all M2 what the user writes down is remembered, corrected and forgotten", async ({ page }) => {
  await beGuest(page);
  await page.goto("/assistant/memory");
  await page.getByLabel("Remember this").fill("I wear size M");
  await page.getByRole("button", { name: "Remember", exact: true }).click();
  await expect(page.getByText("I wear size M")).toBeVisible();
  await page.getByRole("button", { name: "Edit" }).click();
  await page.getByRole("textbox", { name: "Memory" }).fill("I wear size L");
  await page.getByRole("button", { name: "Save" }).click();
  await expect(page.getByText("I wear size L")).toBeVisible();
  await page.getByRole("button", { name: "Forget everything" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Type forget to confirm").fill("forget");
  await dialog.getByRole("button", { name: "Forget everything" }).click();
  await expect(page.getByRole("heading", { name: "Nothing is remembered" })).toBeVisible();
});

test.describe("a lost answer", () => {
  test.use({ expectedError: /ERR_FAILED/ });

  test("B1 a question whose answer was lost, and a second Enter, are one question", async ({ page }) => {
    await beGuest(page);
    await page.goto("/assistant");
    const question = page.getByRole("textbox", { name: "Question" });
    let lost = 0;
    await page.route("**/api/trpc/assistant.ask**", async (route) => {
      await route.fetch();
      lost += 1;
      await route.abort();
    });
    await question.fill("What did we try with the blue coat?");
    await question.press("Enter");
    await expect.poll(() => lost).toBe(1);
    await expect(question).toHaveValue("What did we try with the blue coat?");
    await page.unroute("**/api/trpc/assistant.ask**");
    await question.press("Enter");
    await expect(page.getByText('you asked "What did we try with the blue coat?"')).toBeVisible({
      timeout: 120_000,
    });
    await page.goto("/assistant");
    await expect(page.getByRole("link", { name: /^What did we try with the blue coat/ })).toHaveCount(1);
  });
});
