import type { Page } from "@playwright/test";
import { beAdmin } from "../steps/be-admin.ts";
import { everyPage } from "../steps/every-page.ts";
import { findBarriers } from "../steps/find-barriers.ts";
import { furnish } from "../steps/furnish.ts";
import { liveNode } from "../steps/live-node.ts";
import { sidewaysPx } from "../steps/sideways-px.ts";
import { submitJob } from "../steps/submit-job.ts";
import { uploadSample } from "../steps/upload-sample.ts";
import { waitForResult } from "../steps/wait-for-result.ts";
import { expect, test } from "../test.ts";

// What axe finds says enough; a trace of its work doubles the time.
test.use({ trace: "off" });

const softly = expect.configure({ soft: true });

test("@all WCAG 2.2 AA axe finds nothing on any page, light", async ({ page }) => {
  test.slow();
  await page.emulateMedia({ colorScheme: "light" });
  for (const { address, landmark } of everyPage(await furnish(page))) {
    await page.goto(address);
    await expect(landmark(page)).toBeVisible();
    expect.soft(await findBarriers(page), address).toEqual([]);
  }
});

const reachable =
  "a[href], button:not(:disabled), input:not(:disabled), textarea, select, summary, [tabindex='0']";
const mostTabs = 250;

/** What no press of Tab has reached yet. */
const unreached = (page: Page) =>
  page.evaluate((selector) => {
    const scope = document.querySelector("[role=dialog]") ?? document;
    return [...scope.querySelectorAll<HTMLElement>(selector)]
      .filter((one) => one.tabIndex >= 0 && one.checkVisibility({ visibilityProperty: true }))
      .filter((one) => !one.matches("[data-reached], [aria-hidden=true], [aria-hidden=true] *"))
      .map((one) => one.outerHTML.slice(0, 120));
  }, reachable);

/** Presses Tab until all that the page offers had the focus; returns what did not get it. */
async function tabThrough(page: Page): Promise<string[]> {
  await page.evaluate(() => {
    const mark = (element: Element | null) => element?.setAttribute("data-reached", "");
    document.addEventListener("focusin", ({ target }) => mark(target as Element));
    // What had the focus from the beginning.
    mark(document.activeElement);
  });
  let left = await unreached(page);
  for (let pressed = 0; pressed < mostTabs && left.length > 0; pressed += 1) {
    await page.keyboard.press("Tab");
    left = await unreached(page);
  }
  return left;
}

test("WCAG 2.2 AA @all axe finds nothing on any page, dark; the keyboard alone reaches all that a page offers, and is held nowhere", async ({
  page,
}) => {
  test.slow();
  await page.emulateMedia({ colorScheme: "dark" });
  for (const { address, landmark } of everyPage(await furnish(page))) {
    await page.goto(address);
    await expect(landmark(page)).toBeVisible();
    expect.soft(await findBarriers(page, { isOfColours: true }), address).toEqual([]);
    expect.soft(await tabThrough(page), `by keyboard on ${address}`).toEqual([]);
  }
});

test.describe("an address that leads nowhere", () => {
  test.use({ expectedError: /status of 404/ });

  test("@all WCAG 2.2 AA: axe finds nothing on the not-found page and on the empty pages of a guest", async ({
    page,
  }) => {
    await page.goto("/nowhere");
    await expect(page.getByRole("heading", { name: "Nothing hangs here", level: 2 })).toBeVisible();
    expect.soft(await findBarriers(page)).toEqual([]);
    await page.goto("/gallery");
    await expect(page.getByRole("heading", { name: "Bare walls" })).toBeVisible();
    expect.soft(await findBarriers(page)).toEqual([]);
    await page.goto("/settings");
    await expect(page.getByRole("link", { name: "Create account" })).toBeVisible();
    expect.soft(await findBarriers(page)).toEqual([]);
  });

  test("@all a wrong id in the address of a page is an address that leads nowhere", async ({ page }) => {
    for (const address of ["/edit/x", "/jobs/x", "/batches/x", "/boards/x"]) {
      await page.goto(address);
      await expect(page.getByRole("heading", { name: "Nothing hangs here", level: 2 })).toBeVisible();
    }
  });
});

interface ApiDocument {
  readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly summary: string }>>>>;
}

/** What the viewer draws of a part of an operation in a way of its own: members, types, media types, statuses, marks of text. */
function kindsOf(value: unknown, name: string): string[] {
  if (Array.isArray(value)) return value.flatMap((each: unknown) => kindsOf(each, name));
  if (typeof value === "object" && value !== null) {
    const holdsNames = ["properties", "dependentRequired"].includes(name);
    return Object.entries(value).flatMap(([key, each]) =>
      holdsNames ? kindsOf(each, "") : [key, ...kindsOf(each, key)],
    );
  }
  if (["type", "format", "in", "deprecated"].includes(name)) return [`${name} ${String(value)}`];
  if (name !== "description") return [];
  return String(value).match(/`|\]\(|\*\*|<|\n[-*\d]/g) ?? [];
}

/** The document without each operation of which the others have every kind, the largest first. */
function oneOfEachKind<Document extends ApiDocument>(document: Document): Document {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) => {
      const kinds = Object.entries(operation).flatMap(([part, each]) =>
        kindsOf(each, part).map((kind) => `${part}: ${kind}`),
      );
      return { path, method, operation, kinds: new Set([method, ...kinds]) };
    }),
  );
  const kept = new Set(operations);
  const sizeOf = ({ operation }: (typeof operations)[number]) => JSON.stringify(operation).length;
  for (const one of operations.toSorted((a, b) => sizeOf(b) - sizeOf(a))) {
    kept.delete(one);
    const others = new Set([...kept].flatMap(({ kinds }) => [...kinds]));
    if (!one.kinds.isSubsetOf(others)) kept.add(one);
  }
  const paths: Record<string, Record<string, unknown>> = {};
  for (const { path, method, operation } of kept) paths[path] = { ...paths[path], [method]: operation };
  return { ...document, paths };
}

/** Brings these routes into the page; the viewer renders each only when it comes near the window. */
async function readToTheEnd(page: Page, { paths }: ApiDocument): Promise<void> {
  for (const { summary } of Object.values(paths).flatMap((methods) => Object.values(methods))) {
    const heading = page.getByRole("heading", { name: summary, exact: true });
    await expect(async () => {
      if ((await heading.count()) === 0) await page.mouse.wheel(0, 600);
      await heading.scrollIntoViewIfNeeded({ timeout: 200 });
    }).toPass({ intervals: [0] });
  }
}

test.describe("a page that is not of our own making", () => {
  // It moves as its makers wished.
  test.use({ contextOptions: {} });

  // All routes hold the same elements again and again, which axe would judge for a minute.
  test("WCAG 2.2 AA @all axe finds nothing on the API docs, and they load nothing from elsewhere", async ({
    page,
    baseURL,
  }) => {
    test.slow();
    const addresses: string[] = [];
    page.on("request", (request) => addresses.push(request.url()));
    const whole: ApiDocument = await (await page.request.get("/api/v1/openapi.json")).json();
    const document = oneOfEachKind(whole);
    let asked = 0;
    await page.route("**/api/v1/openapi.json", (route) => {
      asked += 1;
      return route.fulfill({ json: document });
    });
    await page.goto("/api/v1/docs");
    await expect(page.getByRole("heading", { name: "Atelier HTTP API", level: 1 })).toBeVisible();
    await readToTheEnd(page, document);
    expect(asked).toBeGreaterThan(0);
    await expect.poll(() => sidewaysPx(page)).toBe(0);
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme });
      await expect(page.locator("body")).toHaveClass(new RegExp(`${colorScheme}-mode`));
      const scope = { isForeign: true, isOfColours: colorScheme === "dark" };
      expect.soft(await findBarriers(page, scope), `in ${colorScheme}`).toEqual([]);
    }
    const outside = addresses.filter((one) => /^(http|ws)/.test(one) && !one.startsWith(`${baseURL}/`));
    expect(outside).toEqual([]);
  });
});

test("WCAG 2.2 AA @all @phone axe finds nothing on the beginning of the API docs, which do not scroll sideways", async ({
  page,
}) => {
  await page.goto("/api/v1/docs");
  await expect(page.getByRole("heading", { name: "Atelier HTTP API", level: 1 })).toBeVisible();
  await expect.poll(() => sidewaysPx(page)).toBe(0);
  expect(await findBarriers(page, { isForeign: true })).toEqual([]);
});

/** The example of one route in the API docs, and how to choose its language. */
async function openExample(page: Page, tag: string, route: string) {
  await page.goto(`/api/v1/docs#tag/${tag}/POST/${route}`);
  const example = page.getByRole("group", { name: `Request Example for post/${route}`, exact: true });
  /** The viewer draws its cards while they come near the window; a choice made meanwhile was once lost. */
  const choose = (client: string, shown: string) =>
    expect(async () => {
      await example.getByTestId("client-picker").click();
      await page.getByRole("option", { name: client, exact: true }).click({ timeout: 5_000 });
      await expect(example).toContainText(shown, { timeout: 5_000 });
    }).toPass();
  return { example, choose };
}

test("A4 @all the API docs offer pictures from words, show examples for curl, JavaScript and Python, and those of an upload send a file", async ({
  page,
  baseURL,
}) => {
  const jobs = await openExample(page, "jobs", "jobs");
  await expect(page.getByText("text_to_image").first()).toBeVisible();
  await expect(jobs.example).toContainText("curl http");
  await jobs.choose("Fetch", "fetch('http");
  await jobs.choose("Requests", "requests.post(");

  const uploads = await openExample(page, "images", "uploads");
  await uploads.choose("curl with a file", `curl ${baseURL}/api/v1/uploads`);
  await expect(uploads.example).toContainText("--form file=@photo.jpg");
  await uploads.choose("fetch with a file", 'body.append("file", photo');
  await uploads.choose("requests with a file", 'files={"file": photo}');
});

test("WCAG 2.2 AA @all axe finds nothing on the admin's pages, light or dark, and they fit 1,024 pixels", async ({
  page,
}) => {
  test.slow();
  await beAdmin(page);
  const image = await uploadSample(page, "astronaut.png");
  const jobId = await submitJob(page, { kind: "remove_background", inputs: { image } });
  await waitForResult(page, jobId);
  const stops = [
    ["/admin", page.getByRole("heading", { name: "Throughput" })],
    ["/admin/queues", page.getByRole("heading", { name: "cpu-light" })],
    ["/admin/nodes", liveNode(page)],
    ["/admin/jobs", page.getByRole("table", { name: "Jobs" })],
    [`/admin/jobs/${jobId}`, page.getByRole("heading", { name: "What happened" })],
    ["/admin/users", page.getByRole("table", { name: "Users" })],
    ["/admin/providers", page.getByRole("table", { name: "Image providers" })],
    ["/admin/deliveries", page.getByRole("heading", { name: "No deliveries" })],
  ] as const;
  for (const [address, landmark] of stops) {
    await page.setViewportSize({ width: 1680, height: 1050 });
    await page.goto(address);
    await expect(landmark).toBeVisible();
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme });
      const found = await findBarriers(page, { isOfColours: colorScheme === "dark" });
      expect.soft(found, `${address} in ${colorScheme}`).toEqual([]);
    }
    await page.setViewportSize({ width: 1024, height: 768 });
    await softly
      .poll(() => sidewaysPx(page), { message: `sideways scroll on ${address}` })
      .toBeLessThanOrEqual(0);
  }
});

test("WCAG 2.2 AA @all @phone no page scrolls sideways or has a barrier at 390 pixels", async ({ page }) => {
  test.slow();
  for (const { address, landmark } of everyPage(await furnish(page))) {
    await page.goto(address);
    await expect(landmark(page)).toBeVisible();
    await softly
      .poll(() => sidewaysPx(page), { message: `sideways scroll on ${address}` })
      .toBeLessThanOrEqual(0);
    expect.soft(await findBarriers(page), address).toEqual([]);
  }
});
