import { mkdtemp, rm } from "node:fs/promises";
import os from "node:os";
import path from "node:path";
import { chromium, type Page } from "@playwright/test";
import { beGuest } from "../steps/be-guest.ts";
import { chooseMode } from "../steps/choose-mode.ts";
import { paintLine } from "../steps/paint-line.ts";
import { sameSite } from "../steps/same-site.ts";
import { uploadSample } from "../steps/upload-sample.ts";
import { expect, test } from "../test.ts";

// A lost network and a refused save are noted by the browser.
test.use({ expectedError: /Failed to load resource|ERR_|status of 409/ });

const pictureWidth = 600;
const lineAt = (y: number) => ({ from: { x: 60, y }, to: { x: 200, y }, pictureWidth });

const removeOf = (page: Page) => page.getByRole("button", { name: "Remove object", exact: true });
const keepingOf = (page: Page) => page.getByRole("status").filter({ hasText: /Saved|Saving|Offline/ });

async function openEditor(page: Page, id: string): Promise<void> {
  await page.goto(`/edit/${id}`);
  // Until its bytes are there it has no size.
  const picture = page.getByRole("img", { name: "The picture you edit" });
  await expect.poll(async () => (await picture.boundingBox())?.width ?? 0).toBeGreaterThan(200);
}

test("an edit goes on without a network, and another device opens it as it was left", async ({
  page,
  context,
  browser,
}) => {
  await beGuest(page);
  const id = await uploadSample(page, "coffee.png");
  await openEditor(page, id);
  await expect(removeOf(page)).toBeDisabled();
  await context.setOffline(true);
  await paintLine(page, lineAt(60));
  await expect(keepingOf(page)).toHaveText("Offline");
  await context.setOffline(false);
  await expect(keepingOf(page)).toHaveText("Saved");
  await expect(removeOf(page)).toBeEnabled();

  const device = await browser.newContext({ storageState: await context.storageState() });
  const elsewhere = await device.newPage();
  await openEditor(elsewhere, id);
  await expect(removeOf(elsewhere)).toBeEnabled();
  await paintLine(elsewhere, lineAt(90));
  await expect(keepingOf(elsewhere)).toHaveText("Saved");
  await device.close();

  // The first window has not read what the other saved.
  await paintLine(page, lineAt(120));
  const conflict = page.getByRole("alert").filter({ hasText: "changed in another window" });
  await conflict.getByRole("button", { name: "Keep mine" }).click();
  await expect(conflict).toBeHidden();
  await expect(keepingOf(page)).toHaveText("Saved");
  const undo = page.getByRole("toolbar", { name: "Tools" }).getByRole("button", { name: "Undo" });
  await undo.click();
  await undo.click();
  await expect(removeOf(page), "two lines were painted here").toBeDisabled();
});

test("@all what a killed browser had not saved is there when it is opened again", async ({
  page,
  baseURL,
}) => {
  await beGuest(page);
  const id = await uploadSample(page, "coffee.png");
  const profile = await mkdtemp(path.join(os.tmpdir(), "atelier-profile-"));
  const { launchOptions = {} } = test.info().project.use;
  const open = () => chromium.launchPersistentContext(profile, { ...launchOptions, baseURL });
  try {
    const first = await open();
    await first.addCookies((await page.context().storageState()).cookies);
    await first.route("**/api/trpc/edits.save*", (route) => route.abort());
    const painted = await first.newPage();
    await openEditor(painted, id);
    await paintLine(painted, lineAt(60));
    await expect(keepingOf(painted)).toHaveText("Offline");
    await first.close();

    const second = await open();
    await second.addCookies((await page.context().storageState()).cookies);
    const again = await second.newPage();
    await openEditor(again, id);
    await expect(removeOf(again)).toBeEnabled();
    await expect(keepingOf(again)).toHaveText("Saved");
    await second.close();
    await openEditor(page, id);
    await expect(removeOf(page)).toBeEnabled();
  } finally {
    await rm(profile, { recursive: true, force: true });
  }
});

test("@all two tabs of one browser keep what each has done, and the later is told", async ({
  page,
  context,
}) => {
  await beGuest(page);
  const id = await uploadSample(page, "coffee.png");
  await openEditor(page, id);
  const tab = await context.newPage();
  await openEditor(tab, id);
  await paintLine(page, lineAt(60));
  await expect(keepingOf(page)).toHaveText("Saved");
  await paintLine(tab, lineAt(90));
  await paintLine(tab, lineAt(120));
  const conflict = tab.getByRole("alert").filter({ hasText: "changed in another window" });
  await expect(conflict).toBeVisible();
  await tab.reload();
  await expect(conflict, "the draft of the tab is its own").toBeVisible();
  await conflict.getByRole("button", { name: "Take theirs" }).click();
  const undo = tab.getByRole("toolbar", { name: "Tools" }).getByRole("button", { name: "Undo" });
  await undo.click();
  await expect(removeOf(tab), "one line was painted in the other tab").toBeDisabled();
  await page.close();
});

test("@all two tabs over plain http, where none knows of the other, do not overwrite each other's work", async ({
  page,
  context,
}) => {
  await context.addInitScript(() => Reflect.deleteProperty(Navigator.prototype, "locks"));
  await beGuest(page);
  const id = await uploadSample(page, "coffee.png");
  await page.route("**/api/trpc/edits.save*", (route) => route.abort());
  await openEditor(page, id);
  await paintLine(page, lineAt(60));
  await expect(keepingOf(page)).toHaveText("Offline");
  const tab = await context.newPage();
  await openEditor(tab, id);
  await expect(removeOf(tab), "the work of the first tab is taken up").toBeEnabled();
  await paintLine(tab, lineAt(90));
  await expect(keepingOf(tab)).toHaveText("Saved");
  await page.unroute("**/api/trpc/edits.save*");
  await paintLine(page, lineAt(120));
  await expect(page.getByRole("alert").filter({ hasText: "changed in another window" })).toBeVisible();
  await tab.close();
});

test("@all a result belongs to the version of the click, and leaves the one that is looked at meanwhile", async ({
  page,
}) => {
  await beGuest(page);
  const id = await uploadSample(page, "coffee.png");
  await openEditor(page, id);
  await chooseMode(page, "Adjust");
  const light = page.getByRole("slider", { name: "Light" });
  const apply = page.getByRole("button", { name: "Apply", exact: true });
  await light.press("PageUp");
  await apply.click();
  const version = (number: number) =>
    page
      .getByRole("list", { name: "Versions" })
      .getByRole("button", { name: new RegExp(`^Version ${number}`) });
  await expect(version(2)).toHaveAttribute("aria-current", "true", { timeout: 120_000 });

  const { promise: isLookedAt, resolve: goOn } = Promise.withResolvers<void>();
  await page.route("**/api/trpc/jobs.submit*", async (route) => {
    await isLookedAt;
    await route.continue();
  });
  await light.press("PageUp");
  await apply.click();
  await version(1).click();
  await expect(version(1)).toHaveAttribute("aria-current", "true");
  goOn();
  await expect(version(3)).toBeVisible({ timeout: 120_000 });
  await expect(version(1)).toHaveAttribute("aria-current", "true");
  await expect(keepingOf(page)).toHaveText("Saved");
  const input = encodeURIComponent(JSON.stringify({ json: { imageId: id } }));
  const answer = await page.request.get(`/api/trpc/edits.get?input=${input}`);
  const { result } = await answer.json();
  const [, second, third] = result.data.json.state.versions;
  expect(third).toMatchObject({ parentId: second.imageId });
});

/** Starts a batch without the screen, and writes it into the edit as the editor would. */
async function startCandidates(page: Page, id: string, count: number): Promise<void> {
  const job = { kind: "remove_background", inputs: { image: id } };
  const jobs = Array.from({ length: count }, () => job);
  const answer = await page.request.post("/api/v1/batches", { data: { jobs }, ...sameSite() });
  expect(answer.status(), await answer.text()).toBe(202);
  const { jobIds }: { jobIds: string[] } = await answer.json();
  const run = { jobIds, parentId: id, spentMarks: 0, seenIds: [], keptIds: [], acceptedId: null };
  const state = {
    format: 1,
    versions: [{ imageId: id, parentId: null }],
    currentId: id,
    marks: {},
    maskIds: [],
    runs: [{ ...run, isSettled: false }],
    view: null,
    mode: null,
    settings: {},
  };
  const data = { json: { imageId: id, revision: 0, writer: "the journey", state } };
  const saved = await page.request.post("/api/trpc/edits.save", { data, ...sameSite() });
  expect(saved.status(), await saved.text()).toBe(200);
}

test("@all candidates fill a strip; one is kept, one accepted, and opened again the edit shows which was taken", async ({
  page,
}) => {
  await beGuest(page);
  const id = await uploadSample(page, "astronaut.png");
  await startCandidates(page, id, 3);
  await openEditor(page, id);
  const strip = page.getByRole("list", { name: "Candidates" });
  await expect(strip.getByRole("button", { name: /^Candidate \d$/ })).toHaveCount(3, { timeout: 120_000 });
  await expect(strip.getByRole("button", { name: "Candidate 1" })).toHaveAttribute("aria-current", "true");
  await page.keyboard.press("Escape");
  const question = page.getByRole("dialog", { name: "Discard all candidates?" });
  await expect(question).toContainText("2 of them you have not looked at.");
  await question.getByRole("button", { name: "Keep looking" }).click();
  await expect(question).toBeHidden();

  await page.keyboard.press("ArrowRight");
  await expect(strip.getByRole("button", { name: "Candidate 2" })).toHaveAttribute("aria-current", "true");
  await page.keyboard.press("k");
  await expect(strip.getByRole("button", { name: "Candidate 2, taken" })).toBeVisible();
  await page.keyboard.press("ArrowRight");
  await expect(strip.getByRole("button", { name: "Candidate 3" })).toHaveAttribute("aria-current", "true");
  await page.keyboard.press("Enter");
  const versions = page.getByRole("list", { name: "Versions" });
  await expect(versions.getByRole("button")).toHaveCount(3);
  await expect(versions.getByRole("button", { name: /^Version 3/ })).toHaveAttribute("aria-current", "true");
  await expect(keepingOf(page)).toHaveText("Saved");

  await openEditor(page, id);
  await expect(versions.getByRole("button", { name: /^Version 3/ })).toHaveAttribute("aria-current", "true");
  await page.getByRole("button", { name: "Show the 3 candidates again" }).click();
  await expect(strip.getByRole("button", { name: "Candidate 3, taken" })).toHaveAttribute(
    "aria-current",
    "true",
  );
  await expect(strip.getByRole("button", { name: "Candidate 1", exact: true })).toBeVisible();
});
