import type { Locator, Page, Route } from "@playwright/test";
import { beUser } from "../steps/be-user.ts";
import { holdCode } from "../steps/hold-code.ts";
import { keepFirstKeys } from "../steps/keep-first-keys.ts";
import { keepMessage } from "../steps/keep-message.ts";
import { sameSite } from "../steps/same-site.ts";
import { submitJob } from "../steps/submit-job.ts";
import { uploadSample } from "../steps/upload-sample.ts";
import { expect, test } from "../test.ts";

/** Where something begins and ends from left to right; nothing while it is not there. */
async function spanOf(target: Locator): Promise<{ left: number; right: number } | null> {
  const box = await target.boundingBox();
  return box && { left: box.x, right: box.x + box.width };
}

async function remember(page: Page, text: string): Promise<void> {
  const answer = await page.request.post("/api/trpc/memories.add", {
    data: { json: { text } },
    ...sameSite(),
  });
  expect(answer.status(), await answer.text()).toBe(200);
}

test("the frame explains itself once, shows the jobs without covering the page, and takes back what was removed", async ({
  page,
}) => {
  await beUser(page);
  await page.goto("/");
  const hints = page.getByRole("complementary", { name: "How it works" });
  await expect(hints.getByRole("listitem")).toHaveCount(3);
  await hints.getByRole("button", { name: "Got it" }).click();
  await expect(hints).toHaveCount(0);
  await page.reload();
  await expect(page.getByRole("button", { name: "Use the sample: hoodie" })).toBeVisible();
  await expect(hints).toHaveCount(0);

  // So large that it still runs when it is cancelled.
  const imageId = await uploadSample(page, "rocket.jpg", 1_600);
  const jobId = await submitJob(page, { kind: "upscale", inputs: { image: imageId } });
  const pill = page.getByRole("button", { name: /^Open the jobs:/ });
  await expect(pill).toBeVisible();
  const heading = page.getByRole("main").getByRole("heading", { level: 1 });
  await expect
    .poll(async () => ((await spanOf(pill))?.right ?? Infinity) < ((await spanOf(heading))?.left ?? 0))
    .toBe(true);
  await pill.press("Enter");
  const tray = page.getByRole("region", { name: "Jobs" });
  await expect(tray.getByRole("listitem")).toHaveCount(1);
  await expect(tray.getByRole("button", { name: "Collapse the jobs" })).toBeFocused();
  await page.keyboard.press("Escape");
  await expect(tray).toHaveCount(0);
  await expect(pill).toBeFocused();
  await page.request.post(`/api/v1/jobs/${jobId}/cancel`, sameSite());

  await remember(page, "Ada likes silk.");
  await page.goto("/assistant/memory");
  const memory = page.getByText("Ada likes silk.");
  await expect(memory).toBeVisible();
  await page.getByRole("button", { name: "Delete", exact: true }).click();
  await keepMessage(page);
  await expect(memory).toHaveCount(0);
  await page.getByRole("button", { name: "Undo" }).click();
  await expect(memory).toBeVisible();
  await page.getByRole("button", { name: "Delete", exact: true }).click();
  await expect(memory).toHaveCount(0);
  // Leaving the page is the end of Undo.
  await page.goto("/");
  await expect
    .poll(
      async () => {
        const listed = await page.request.get(
          `/api/trpc/memories.list?input=${encodeURIComponent(JSON.stringify({ json: {} }))}`,
        );
        return (await listed.text()).includes("Ada likes silk.");
      },
      { timeout: 120_000 },
    )
    .toBe(false);
});

test("@all @phone five tabs are enough: the other pages are under More", async ({ page }) => {
  await beUser(page);
  await page.goto("/");
  const tabs = page.getByRole("navigation", { name: "Main" }).getByRole("listitem");
  await expect(tabs).toHaveCount(5);
  // Create, which no engine of this studio offers, has a tab on its own page.
  await page.goto("/create");
  await expect(tabs).toHaveCount(5);
  await page.getByRole("button", { name: "More" }).tap();
  await page.getByRole("menuitem", { name: "Settings" }).tap();
  await expect(page.getByRole("heading", { name: "Settings", level: 1 })).toBeVisible();
});

test("@all @phone the sections of the settings are a strip that stays in view and marks where one is", async ({
  page,
}) => {
  await beUser(page);
  await page.goto("/settings");
  const links = page.getByRole("navigation", { name: "Sections" }).getByRole("link");
  const current = page.getByRole("navigation", { name: "Sections" }).locator("[aria-current]");
  await expect(links.filter({ hasText: "Your data" })).toBeAttached();
  await expect(links.filter({ hasText: "Keyboard" }), "of no use to a finger").toBeHidden();
  await expect(current).toHaveText("Account");
  await links.filter({ hasText: "Password" }).tap();
  await expect(page.getByRole("heading", { name: "Password", exact: true })).toBeInViewport();
  await expect(current).toHaveText("Password");
  await expect(current).toBeInViewport({ ratio: 1 });

  await test.step("by keyboard too, to a section that cannot come to the top", async () => {
    await links.filter({ hasText: "Your data" }).focus();
    await page.keyboard.press("Enter");
    await expect(page.getByRole("heading", { name: "Your data" })).toBeInViewport();
    await expect(current).toHaveText("Your data");
    await expect(current).toBeInViewport({ ratio: 1 });
  });
  await page.getByRole("heading", { name: "API keys" }).evaluate((heading) => heading.scrollIntoView());
  await expect(current).toHaveText("API keys");

  await test.step("a menu beside it lists all of them, and the page is not wider than the phone", async () => {
    expect(await page.evaluate(() => window.innerWidth)).toBe(page.viewportSize()?.width);
    await page.getByRole("button", { name: "Sections" }).tap();
    await expect(page.getByRole("menuitem", { name: "Account" })).toBeVisible();
    await expect(page.getByRole("menuitem", { name: "Keyboard" })).toHaveCount(0);
    await page.getByRole("menuitem", { name: "Storage" }).tap();
    await expect(page.getByRole("heading", { name: "Storage" })).toBeInViewport();
    await expect(current).toHaveText("Storage");
  });

  await test.step("and that one stays in view when sections before it arrive, or their names get wider", async () => {
    const held = Promise.withResolvers<void>();
    await page.route(/\/api\/trpc\//, async (route) => {
      await held.promise;
      await route.continue();
    });
    await page.reload();
    await links.filter({ hasText: "Appearance" }).tap();
    await expect(current).toHaveText("Appearance");
    await expect(links.filter({ hasText: "API keys" })).toHaveCount(0);
    held.resolve();
    await expect(links.filter({ hasText: "API keys" })).toBeAttached();
    await expect(current).toBeInViewport({ ratio: 1 });
    await page.addStyleTag({ content: "nav a { letter-spacing: 4px }" });
    await expect(current).toBeInViewport({ ratio: 1 });
  });
});

test("@all the sections of the settings come together, at the one that the address names", async ({
  page,
}) => {
  await beUser(page);
  await page.addInitScript(() => {
    const moved: string[] = [];
    Object.assign(window, { moved });
    new PerformanceObserver((list) => {
      for (const { sources } of list.getEntries() as unknown as { sources: { node: Node | null }[] }[])
        moved.push(...sources.map(({ node }) => node?.textContent?.slice(0, 40) ?? ""));
    }).observe({ type: "layout-shift", buffered: true });
  });
  const heading = page.getByRole("heading", { name: "Links" });
  // A server that answers late is not waited for.
  await expect(async () => {
    await page.goto("/sign-in");
    await page.goto("/settings#links");
    await expect(heading).toBeInViewport();
    const moved = await page.evaluate(() => (window as unknown as { moved: string[] }).moved);
    expect(moved).toEqual([]);
  }).toPass();
});

test.describe("without a network", () => {
  test.use({ expectedError: /Failed to load resource|ERR_/ });
  test("the frame says so in one line, which goes when it is back", async ({ page, context }) => {
    await beUser(page);
    await page.goto("/gallery");
    await expect(page.getByRole("heading", { name: "Gallery" })).toBeVisible();
    const notice = page.getByRole("status").filter({ hasText: "You are offline" });
    await context.setOffline(true);
    await expect(notice).toBeVisible();
    await expect(page.getByText("Reconnecting")).toHaveCount(0);
    await context.setOffline(false);
    await expect(notice).toHaveCount(0);
    await expect(page.getByText("Reconnecting")).toHaveCount(0);
  });
});

test.describe("code that comes after the page", () => {
  test.use({ expectedError: /Failed to load|ERR_|ChunkLoadError/ });
  const chunks = /\/_next\/static\/chunks\//;

  /**
   * Opens the gallery with the code that its page names, and answers this for any other. From before it is opened: a
   * pointer that rests on the page loads code, too, and a browser keeps what an earlier page has loaded.
   */
  async function openWithout(page: Page, other: (route: Route) => Promise<void>): Promise<void> {
    const first = await (await page.request.get("/gallery")).text();
    await page.route(chunks, (route) =>
      first.includes(new URL(route.request().url()).pathname) ? route.continue() : other(route),
    );
    await page.goto("/gallery");
  }

  test("@all is loaded as soon as the network is back, without a reload", async ({ page }) => {
    await beUser(page);
    await page.route("/api/ready", (route) => route.abort());
    await openWithout(page, (route) => route.abort());
    const notice = page.getByRole("status").filter({ hasText: "Reconnecting" });
    await expect(notice).toBeVisible();
    await page.unroute(chunks);
    await page.evaluate(() => window.dispatchEvent(new Event("online")));
    await expect(notice).toHaveCount(0);
  });

  test("@all a page that is older than the studio says so, and one button brings the new one", async ({
    page,
  }) => {
    await beUser(page);
    await openWithout(page, (route) => route.fulfill({ status: 404 }));
    await expect(page.getByRole("heading", { name: "Gallery" })).toBeVisible();
    await page.keyboard.press("Control+K");
    const notice = page.getByRole("status").filter({ hasText: "This page is older than the studio" });
    await expect(notice).toBeVisible();
    await page.unroute(chunks);
    await notice.getByRole("button", { name: "Reload" }).click();
    await expect(notice).toHaveCount(0);
    await expect(page.getByRole("heading", { name: "Gallery" })).toBeVisible();
    await page.keyboard.press("Control+K");
    await expect(page.getByRole("dialog", { name: "Go to, search and do" })).toBeVisible();
  });
});

test("@all what is typed before the code of a page is there stays in its field", async ({ page }) => {
  await beUser(page);
  // A gallery without pictures has no search.
  await uploadSample(page, "rocket.jpg");
  await page.goto("/create");
  const prompt = page.getByRole("textbox", { name: "Prompt", exact: true });
  await prompt.fill("a lighthouse");
  // It is stored now.
  await page.reload();
  await expect(prompt).toHaveValue("a lighthouse");
  const typedIn = (path: string, field: Locator, text: string) => typeEarly(page, { path, field, text });

  await typedIn("/gallery", page.getByRole("combobox", { name: "Search the pictures" }), "rock");
  await expect(page.getByRole("combobox", { name: "Search the pictures" })).toHaveValue("rock");
  await expect(page).toHaveURL(/search=rock/);

  await typedIn("/assistant", page.getByRole("textbox", { name: "Question" }), "what is new");
  await expect(page.getByRole("textbox", { name: "Question" })).toHaveValue("what is new");
  await page.getByRole("textbox", { name: "Question" }).press("!");
  await expect(page.getByRole("textbox", { name: "Question" })).toHaveValue("what is new!");

  // The stored prompt was not to be seen when the new one was typed.
  await typedIn("/create", prompt, "in fog");
  await expect(prompt).toHaveValue("a lighthouse\nin fog");
});

test("@all what is typed into the form to sign in before its code is there stays, also for a new account", async ({
  page,
}) => {
  const field = page.getByRole("textbox", { name: "E-mail" });
  await typeEarly(page, { path: "/sign-in", field, text: "ada@example.com" });
  const password = page.getByLabel("Password", { exact: true });
  await password.fill("of an account that is there");
  await page.getByRole("radio", { name: "Create account" }).click();
  await expect(page.getByRole("textbox", { name: "Name" })).toBeVisible();
  await expect(field).toHaveValue("ada@example.com");
  await expect(password).toHaveValue("");
});

interface Typing {
  readonly path: string;
  readonly field: Locator;
  readonly text: string;
}

/** Opens a page and types while its code is held; then the code comes. */
async function typeEarly(page: Page, { path, field, text }: Typing): Promise<void> {
  await keepFirstKeys(page);
  const letGo = await holdCode(page);
  await page.goto(path, { waitUntil: "commit" });
  await field.focus();
  await page.keyboard.type(text);
  await expect(field).toHaveValue(text);
  const isLoaded = page.waitForLoadState("load");
  letGo();
  await isLoaded;
  // By a key that only the code of the page answers.
  await page.keyboard.press("Control+K");
  await expect(page.getByRole("dialog", { name: "Go to, search and do" })).toBeVisible();
  await page.keyboard.press("Escape");
  await expect(page.getByRole("dialog", { name: "Go to, search and do" })).toHaveCount(0);
}
