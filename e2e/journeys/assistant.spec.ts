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

test("@all B1 conversations are found by what was said, named, pinned and saved, also as seen by another tab", async ({
  page,
  context,
}) => {
  await beGuest(page);
  await page.goto("/assistant");
  const question = page.getByRole("textbox", { name: "Question" });
  const list = page.getByRole("navigation", { name: "Conversations" });
  const ask = async (text: string) => {
    await page.keyboard.press("Control+Shift+O");
    await expect(page).toHaveURL(/\/assistant$/);
    await expect(question).toBeFocused();
    await question.fill(text);
    await question.press("Enter");
    await expect(page.getByText(`you asked "${text}"`)).toBeVisible({ timeout: 120_000 });
  };
  await ask("Where is the crème hat?");
  await ask("Where are the blue shoes?");
  await question.fill("And the grey scarf?");
  await question.press("Enter");
  await expect(page.getByText('you asked "And the grey scarf?"')).toBeVisible({ timeout: 120_000 });
  await expect(list.getByRole("heading", { name: "Today" })).toBeVisible();
  expect(await findBarriers(page)).toEqual([]);
  const other = await context.newPage();
  await other.goto("/assistant");
  const ofOther = other.getByRole("navigation", { name: "Conversations" });
  await expect(ofOther.getByRole("link")).toHaveCount(2);

  await test.step("a word without its accent finds the talk, and Enter opens it there", async () => {
    await question.blur();
    await page.keyboard.press("/");
    const search = page.getByRole("searchbox", { name: "Search conversations" });
    await expect(search).toBeFocused();
    await search.fill("creme");
    await expect(list.locator("mark").first()).toHaveText("crème");
    expect(await findBarriers(page)).toEqual([]);
    await search.press("Enter");
    await expect(page).toHaveURL(/c=.*&m=/);
    await expect(page.getByRole("article")).toHaveCount(1);
    await search.fill("scarf");
    await search.press("Enter");
    await expect(page.getByRole("article")).toHaveCount(2);
    await expect(page.getByRole("article").last()).toBeInViewport();
    await search.fill("zebra");
    await expect(list.getByText("Nothing was found.")).toBeVisible();
    await search.press("Escape");
    await expect(list.getByRole("heading", { name: "Today" })).toBeVisible();
    // The arrow of an input method chooses one of its words.
    await search.dispatchEvent("keydown", { key: "ArrowDown", isComposing: true, bubbles: true });
    await expect(search).toBeFocused();
    await search.press("ArrowDown");
  });

  await test.step("Enter keeps a name, Escape does not, and another tab has it at once", async () => {
    const shoes = list.getByRole("link", { name: /blue shoes/ });
    await expect(shoes).toBeFocused();
    const title = list.getByRole("textbox", { name: "Title of the conversation" });
    await page.keyboard.press("F2");
    await title.fill("Not this");
    await title.press("Escape");
    await expect(shoes).toBeFocused();
    await page.keyboard.press("F2");
    await title.fill("Winter catalogue");
    await title.press("Enter");
    await expect(list.getByRole("link", { name: /^Winter catalogue/ })).toBeFocused();
    await expect(ofOther.getByRole("link", { name: /^Winter catalogue/ })).toBeVisible();
  });

  await test.step("who leaves the name for the question writes there, and Delete goes on to the next one", async () => {
    const winter = list.getByRole("link", { name: /^Winter/ });
    await winter.press("F2");
    await list.getByRole("textbox", { name: "Title of the conversation" }).fill("Winter hats");
    await question.click();
    await expect(winter).toContainText("Winter hats");
    await page.evaluate(
      () => new Promise((seen) => requestAnimationFrame(() => requestAnimationFrame(seen))),
    );
    await expect(question).toBeFocused();
    await winter.press("F2");
    await list.getByRole("textbox", { name: "Title of the conversation" }).fill("Winter catalogue");
    await page.keyboard.press("Enter");
    const hat = list.getByRole("link", { name: /crème hat/ });
    await hat.press("Delete");
    await expect(hat).toHaveCount(0);
    await expect(winter).toBeFocused();
    await page.getByRole("button", { name: "Undo" }).click();
    await expect(hat).toBeVisible();
  });

  await test.step("a pinned one stands above all, and is saved as Markdown", async () => {
    const more = list.getByRole("button", { name: /^More: Where is the crème hat/ });
    await more.press("Enter");
    await page.getByRole("menuitem", { name: "Pin to the top" }).click();
    await expect(list.getByRole("heading").first()).toHaveText("Pinned");
    await expect(list.getByRole("link").first()).toContainText("crème hat");
    await expect(ofOther.getByRole("link").first()).toContainText("crème hat");
    await more.press("Enter");
    const download = page.waitForEvent("download");
    await page.getByRole("menuitem", { name: "Save as Markdown" }).click();
    expect((await download).suggestedFilename()).toBe("Where is the crème hat.md");
  });

  await test.step("on a phone the list is behind a button", async () => {
    await other.setViewportSize({ width: 390, height: 844 });
    await expect(ofOther).toBeHidden();
    await other.getByRole("button", { name: "Conversations" }).click();
    await ofOther.getByRole("link", { name: /^Winter catalogue/ }).click();
    await expect(other.getByText('you asked "Where are the blue shoes?"')).toBeVisible();
    await expect(ofOther).toBeHidden();
  });
});

test("@all B1 a conversation begins though no further request of the page is answered", async ({ page }) => {
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

  test("@all B1 a question whose answer was lost, and a second Enter, are one question", async ({ page }) => {
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
