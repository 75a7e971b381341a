import { beGuest } from "../steps/be-guest.ts";
import { chooseFiles } from "../steps/choose-files.ts";
import { findBarriers } from "../steps/find-barriers.ts";
import { openCreate } from "../steps/open-create.ts";
import { record } from "../steps/record.ts";
import { driveSimulator, startSimulator } from "../steps/start-simulator.ts";
import { expect, test } from "../test.ts";

const words = "A lighthouse at dusk, long exposure";

/** The server is looked for every ten seconds, and the page asks every fifteen. */
const serverFoundMs = 120_000;

test.describe("with a ComfyUI server (SIMULATOR)", () => {
  let stop: () => Promise<void>;
  test.beforeAll(async ({ comfyPort }) => {
    stop = await startSimulator(comfyPort, { stepMs: 600 });
  });
  test.afterAll(() => stop());

  test("A12 E8 a prompt becomes a picture that develops in its frame, and a remix fills the form", async ({
    page,
    comfyPort,
  }) => {
    await beGuest(page);
    const { prompt, make } = await openCreate(page);
    await prompt.fill(words);
    await expect(make).toBeEnabled({ timeout: serverFoundMs });
    await page.getByRole("radio", { name: "3:2" }).click();
    await expect(page.getByText(/^On your server with .*, free\. Starts .*, runs /)).toBeVisible();

    const results = page.getByRole("region", { name: "Pictures" });
    const previews = await record(results, {
      selector: "img[alt='Preview of the picture']",
      attribute: "src",
    });
    // Its sampler waits until the page shows that it runs: a slow page would miss it.
    await driveSimulator(comfyPort, "fault", { kind: "hold" });
    await prompt.press("Control+Enter");
    await expect(results.getByRole("progressbar", { name: "Progress of the picture" })).toBeVisible({
      timeout: 120_000,
    });
    const open = results.getByRole("button", { name: `Open: ${words}` });
    // Again and again: a run that the server has not begun is held after a release, too.
    await expect(async () => {
      await driveSimulator(comfyPort, "release");
      await expect(open).toBeVisible({ timeout: 1_000 });
    }).toPass({ timeout: 120_000 });
    const shown = await previews();
    expect(shown.length).toBeGreaterThanOrEqual(2);
    expect(shown.every((source) => source.startsWith("data:image/"))).toBe(true);
    expect(await findBarriers(page)).toEqual([]);

    await prompt.fill("something else");
    await page.getByRole("radio", { name: "9:16" }).click();
    await results.getByRole("button", { name: /^Remix/ }).click();
    await expect(prompt).toHaveValue(words);
    await expect(page.getByRole("radio", { name: "3:2" })).toBeChecked();
    const seed = page.getByRole("textbox", { name: "Seed, a number" });
    await expect(seed).toHaveValue(/^\d+$/);
    const number = await seed.inputValue();

    await open.click();
    const viewer = page.getByRole("dialog");
    await viewer.getByRole("button", { name: "Information" }).click();
    const info = viewer.getByRole("complementary", { name: "Information" });
    await expect(info.getByText(words)).toBeVisible();
    await expect(info.getByText(number)).toBeVisible();
    expect(await findBarriers(page)).toEqual([]);
  });

  test("A4 D8 several pictures stand in one line, whose order is the owner's", async ({
    page,
    comfyPort,
  }) => {
    await beGuest(page);
    // None ends while the line is looked at.
    await driveSimulator(comfyPort, "fault", { kind: "hold", times: "forever" });
    await page.goto("/create");
    await page.getByRole("textbox", { name: "Prompt", exact: true }).fill(words);
    await page.getByRole("textbox", { name: "Pictures" }).fill("6");
    await page.getByRole("textbox", { name: "Pictures" }).press("Enter");
    const make = page.getByRole("button", { name: /^Generate 6 pictures/ });
    await expect(make).toBeEnabled({ timeout: serverFoundMs });
    await make.click();
    await page.getByRole("link", { name: "Jobs", exact: true }).click();

    const line = page.getByRole("list", { name: "Your queue" });
    const handles = line.getByRole("button", { name: /^Move Text to image, position/ });
    await expect(handles.nth(2)).toBeVisible({ timeout: 120_000 });
    const order = () =>
      line.getByRole("link").evaluateAll((links) => links.map((link) => link.getAttribute("href")));
    const [other, own] = (await order()).slice(-2);
    const row = line.getByRole("listitem").filter({ has: page.locator(`a[href="${own}"]`) });
    const isMoved = page.waitForResponse(/jobs\.moveInLine/);
    await row.getByRole("button", { name: /^Move/ }).press("ArrowUp");
    await expect(page.getByText(/^Now at position \d of \d\.$/)).toBeAttached();
    await isMoved;
    await page.reload();
    const ofBoth = async () => (await order()).filter((address) => address === own || address === other);
    await expect.poll(ofBoth).toEqual([own, other]);
    await expect(line.getByText(/Starts (at once|in)/).first()).toBeVisible();
    expect(await findBarriers(page)).toEqual([]);
    const waiting = await order();
    await page.getByRole("button", { name: "Cancel all" }).click();
    const asked = page.getByRole("dialog", { name: /^Cancel all \d waiting jobs\?$/ });
    await asked.getByRole("button", { name: "Cancel all" }).click();
    await expect(asked, "what is behind a question cannot be found").toBeHidden();
    await expect(line).toBeHidden();
    for (const address of waiting) {
      const job: unknown = await (await page.request.get(`/api/v1${address}`)).json();
      expect(job).toMatchObject({ status: "cancelled" });
    }
    await driveSimulator(comfyPort, "clear");
    await driveSimulator(comfyPort, "release");
  });

  test("@all a result that is downloaded with its settings fills Create as it was made", async ({
    page,
  }, testInfo) => {
    await beGuest(page);
    const { prompt } = await openCreate(page);
    await prompt.fill("A bear, asleep");
    await page.getByRole("radio", { name: "3:2" }).click();
    const make = page.getByRole("button", { name: /^Generate/ });
    await expect(make).toBeEnabled({ timeout: 120_000 });
    await make.click();
    await page.getByRole("button", { name: "Open: A bear, asleep" }).click({ timeout: 120_000 });
    const viewer = page.getByRole("dialog");
    await viewer.getByRole("button", { name: "Information" }).click();
    const downloading = page.waitForEvent("download");
    await viewer.getByRole("link", { name: "Download with settings" }).click();
    const file = testInfo.outputPath("bear.png");
    await (await downloading).saveAs(file);
    await page.keyboard.press("Escape");

    await prompt.fill("");
    await page.getByRole("radio", { name: "9:16" }).click();
    await chooseFiles(page.getByRole("button", { name: "Settings of a picture…" }), file);
    const dialog = page.getByRole("dialog", { name: "Settings of this picture" });
    await expect(dialog.getByText("Atelier")).toBeVisible();
    await expect(dialog.getByRole("region", { name: "What will differ here" })).toBeHidden();
    await dialog.getByRole("button", { name: "Use these settings" }).click();
    await expect(prompt).toHaveValue("A bear, asleep");
    await expect(page.getByRole("radio", { name: "3:2" })).toBeChecked();
    await expect(page.getByRole("textbox", { name: "Seed, a number" })).toHaveValue(/^\d+$/);
  });
});
