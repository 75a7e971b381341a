import type { Page } from "@playwright/test";
import { beGuest } from "../steps/be-guest.ts";
import { fillMonths } from "../steps/fill-months.ts";
import { sidewaysPx } from "../steps/sideways-px.ts";
import { expect, test } from "../test.ts";

const timeline = (page: Page) => page.getByRole("slider", { name: "Timeline" });
const tiles = (page: Page) => page.locator("[data-tile]");

/** The heading of the first day in view. */
async function dayInView(page: Page): Promise<string> {
  const headings = page.getByRole("group", { name: "Pictures", exact: true }).getByRole("heading");
  for (const heading of await headings.all()) {
    const box = await heading.boundingBox();
    if (box !== null && box.y > -60 && box.y < 400) return (await heading.textContent()) ?? "";
  }
  return "";
}

const nameOf = (month: string) =>
  new Date(`${month}-15T00:00:00Z`).toLocaleDateString("en", { month: "long" });
/** What the heading of a day of the month `YYYY-MM` says, and the timeline of the month. */
const dayOf = (month: string) => new RegExp(`${nameOf(month)} \\d+, ${month.slice(0, 4)}`);
const wholeMonth = (month: string) => new RegExp(`^${nameOf(month)} ${month.slice(0, 4)}, \\d+`);

test("@all P9 a click and keys on the timeline lead to any month, and what is chosen stays chosen", async ({
  page,
}) => {
  await beGuest(page);
  await fillMonths(page, { months: 30, picturesEach: 120 });
  await page.goto("/gallery");
  const months = page.locator("[data-month]");
  await expect(months.first()).toBeVisible();
  await expect(tiles(page).first()).toBeVisible();
  await page.getByRole("checkbox", { name: "Select picture 3", exact: true }).click();

  const far = months.nth(20);
  const month = (await far.getAttribute("data-month")) ?? "";
  const box = await far.boundingBox();
  if (box === null) throw new Error("the month is not shown");
  const answered = page.waitForResponse(/images\.list/);
  await page.mouse.click(box.x + box.width / 2, box.y + 1);
  expect((await (await answered).body()).byteLength).toBeLessThan(200_000);
  await expect.poll(() => dayInView(page)).toMatch(dayOf(month));
  await expect(timeline(page)).toHaveAttribute("aria-valuetext", wholeMonth(month));
  expect(await tiles(page).count()).toBeLessThan(300);

  const id = (await tiles(page).nth(12).getAttribute("data-tile")) ?? "";
  // By its id: what is read around the month comes between the tiles of the document.
  const tile = page.locator(`[data-tile="${id}"]`);
  await page.locator(`[data-tile="${id}"] + [role=checkbox]`).click();
  await expect(page.getByRole("toolbar", { name: "Selection" }).getByRole("status")).toHaveText("2 selected");

  const number = Number(((await tile.getAttribute("aria-label")) ?? "").slice("picture ".length));
  // A click would choose it.
  await tile.press("Enter");
  const viewer = page.getByRole("dialog", { name: "Picture" });
  const isOpen = (one: number) =>
    expect(viewer.getByRole("img", { name: `picture ${one}`, exact: true })).toBeVisible();
  await isOpen(number);
  // Of the whole list: the sample is second.
  await expect(viewer.getByText(`${(number + 2).toLocaleString("en")} of 3,601`)).toBeVisible();
  await page.keyboard.press("ArrowRight");
  await isOpen(number + 1);
  await expect(viewer.getByText(`${(number + 3).toLocaleString("en")} of 3,601`)).toBeVisible();
  await page.keyboard.press("ArrowLeft");
  await isOpen(number);
  await page.keyboard.press("Escape");
  await expect(viewer).toHaveCount(0);
  await expect(tile).toBeFocused();

  await timeline(page).focus();
  await page.keyboard.press("End");
  // How much of the oldest month was filled depends on the day of today, and so does how far it can be scrolled.
  const oldest = (await months.last().getAttribute("data-month")) ?? "";
  await expect(timeline(page)).toHaveAttribute("aria-valuetext", wholeMonth(oldest));
  await expect(page.getByRole("heading", { name: dayOf(oldest) }).first()).toBeInViewport();
  await page.keyboard.press("PageUp");
  await page.keyboard.press("Home");
  await expect(page.getByRole("button", { name: "picture 0", exact: true })).toBeVisible();
  await expect(page.getByRole("toolbar", { name: "Selection" }).getByRole("status")).toHaveText("2 selected");
  await expect(page.getByRole("checkbox", { name: "Select picture 3", exact: true })).toBeChecked();
});

test("@all P9 scrolling far and back shows every picture once, in its order", async ({ page }) => {
  await beGuest(page);
  await fillMonths(page, { months: 3, picturesEach: 100 });
  await page.goto("/gallery");
  await expect(tiles(page).first()).toBeVisible();
  /** What is shown, and whether that fills the window: what was scrolled to may not be read or drawn yet. */
  const look = async () => {
    const { names, isFull } = await tiles(page).evaluateAll((shown) => ({
      names: shown.map((tile) => tile.getAttribute("aria-label") ?? ""),
      isFull: shown.some((tile) => tile.getBoundingClientRect().bottom > window.innerHeight),
    }));
    const numbers = names.flatMap((name) => (name.startsWith("picture ") ? [Number(name.slice(8))] : []));
    return { numbers, isFull };
  };
  const seen = new Set<number>();
  const scrollOn = async () => {
    const { numbers, isFull } = await look();
    expect(numbers).toEqual(numbers.toSorted((a, b) => a - b));
    for (const number of numbers) seen.add(number);
    if (isFull) await page.mouse.wheel(0, 400);
    return seen.has(299);
  };
  await page.mouse.move(600, 600);
  await expect.poll(scrollOn, { intervals: [60] }).toBe(true);
  expect(seen.size).toBe(300);
});

test("@all P9 @phone the handle of the timeline is pulled by a finger to a month of long ago", async ({
  page,
}) => {
  await beGuest(page);
  await fillMonths(page, { months: 30, picturesEach: 60 });
  await page.goto("/gallery");
  const handle = page.locator("[data-handle]");
  await expect(handle).toBeVisible();
  const box = await handle.boundingBox();
  if (box === null) throw new Error("there is no handle");
  expect(Math.min(box.width, box.height)).toBeGreaterThanOrEqual(44);
  const input = await page.context().newCDPSession(page);
  const touch = (type: "touchStart" | "touchMove" | "touchEnd", y = 0) =>
    input.send("Input.dispatchTouchEvent", {
      type,
      touchPoints: type === "touchEnd" ? [] : [{ x: box.x + box.width / 2, y }],
    });
  const from = box.y + box.height / 2;
  await touch("touchStart", from);
  for (const step of [60, 140, 220, 300]) await touch("touchMove", from + step);
  await expect(timeline(page).getByText(/^[A-Z][a-z]+ 20\d\d$/)).toBeVisible();
  await touch("touchEnd");
  await expect(timeline(page)).not.toHaveAttribute("aria-valuenow", /^\d$/);
  const isThere = async () => {
    const month = (await timeline(page).getAttribute("aria-valuetext"))?.split(" ")[0];
    return month !== undefined && (await dayInView(page)).includes(month);
  };
  await expect.poll(isThere).toBe(true);
  await expect.poll(() => sidewaysPx(page)).toBe(0);
});

test.describe("without an answer", () => {
  test.use({ expectedError: /Failed to load resource/ });

  test("P9 @all a jump that fails leaves the pictures where they are, says so, and works when it is tried again", async ({
    page,
  }) => {
    await beGuest(page);
    await fillMonths(page, { months: 30, picturesEach: 120 });
    await page.goto("/gallery");
    const months = page.locator("[data-month]");
    await expect(months.first()).toBeVisible();
    await page.getByRole("checkbox", { name: "Select picture 3", exact: true }).click();
    const far = months.nth(20);
    const box = await far.boundingBox();
    if (box === null) throw new Error("the month is not shown");
    await page.route(/images\.list/, (route) => route.fulfill({ status: 500, body: "{}" }));
    await page.mouse.click(box.x + box.width / 2, box.y + 1);
    await expect(page.getByText("No connection").first()).toBeVisible();
    await expect(page.getByRole("toolbar", { name: "Selection" }).getByRole("status")).toHaveText(
      "1 selected",
    );
    await page.evaluate(() => window.scrollTo({ top: 0 }));
    await expect(page.locator("[data-tile]").first()).toBeInViewport();
    await page.unroute(/images\.list/);
    await page.mouse.click(box.x + box.width / 2, box.y + 1);
    const month = (await far.getAttribute("data-month")) ?? "";
    await expect.poll(() => dayInView(page)).toContain(month.slice(0, 4));
  });
});

/** Where pictures are on the screen, by their address; those alone that are in view. */
const placesOf = (page: Page, selector: string) =>
  page.evaluate(
    (pictures) =>
      [...document.querySelectorAll<HTMLImageElement>(pictures)].flatMap((picture) => {
        const { x, y, width, height } = picture.getBoundingClientRect();
        return y < window.innerHeight ? [{ src: picture.src, box: [x, y, width, height] }] : [];
      }),
    selector,
  );

test("@all @phone the newest pictures are seen before the page's code is there, which leaves them where they are", async ({
  page,
}) => {
  await beGuest(page);
  await fillMonths(page, { months: 2, picturesEach: 60 });
  await page.goto("/gallery");
  await expect(tiles(page).first()).toBeVisible();
  await page.addInitScript(() => {
    Reflect.set(window, "shifted", 0);
    new PerformanceObserver((list) => {
      for (const shift of list.getEntries())
        Reflect.set(window, "shifted", Reflect.get(window, "shifted") + Reflect.get(shift, "value"));
    }).observe({ type: "layout-shift", buffered: true });
  });
  const { promise: held, resolve: goOn } = Promise.withResolvers<void>();
  await page.route(/\/_next\/static\/.*\.js/, async (route) => {
    await held;
    await route.continue();
  });
  const first = page.locator("[data-days] img");
  // The page goes without them when they take longer than its patience, as on a busy machine.
  await expect(async () => {
    await page.reload({ waitUntil: "commit" });
    await expect(first.first()).toBeVisible({ timeout: 5_000 });
  }).toPass();
  const isLoaded = () => first.first().evaluate((image: HTMLImageElement) => image.naturalWidth > 0);
  await expect.poll(isLoaded).toBe(true);
  // What AI made is marked from the start, and the days have their headings.
  const firstRows = page.locator("[data-days]");
  await expect(firstRows.getByText("AI", { exact: true }).first()).toBeVisible();
  await expect(firstRows.locator("h2").first()).toContainText(/^(?:Today|Yesterday)/);
  const before = await placesOf(page, "[data-days] img");
  expect(before.length).toBeGreaterThan(3);

  goOn();
  await expect(tiles(page).first()).toBeVisible();
  await expect(first).toHaveCount(0);
  const after = new Map((await placesOf(page, "[data-tile] img")).map(({ src, box }) => [src, box]));
  for (const { src, box } of before)
    for (const [side, px] of box.entries()) expect(after.get(src)?.[side], src).toBeCloseTo(px, 0);
  expect(await page.evaluate(() => Number(Reflect.get(window, "shifted")))).toBeLessThan(0.02);
});
