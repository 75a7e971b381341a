import type { Page } from "@playwright/test";
import path from "node:path";
import { createByCommand } from "../steps/be-admin.ts";
import { resumeSession } from "../steps/be-user.ts";
import type { Account } from "../steps/create-account.ts";
import { startTraceCollector, type TraceCollector } from "@atelier/testing/otlp";
import { findBarriers } from "../steps/find-barriers.ts";
import { startSimulatedProviders } from "../steps/start-simulator.ts";
import { startStudio } from "../steps/start-studio.ts";
import { expect, test } from "../test.ts";

let stops: (() => Promise<void>)[] = [];
let collector: TraceCollector;

/** Of all journeys here: an account that a sign-up makes without an invitation may spend nothing. */
let member: Account;

const beMember = (page: Page): Promise<void> => resumeSession(page, member);

test.beforeAll(async ({ providersPort, serverEnv }, { project }) => {
  const { baseURL = "" } = project.use;
  const dataDir = `${serverEnv["ATELIER_DATA_DIR"]}-cloud`;
  // In the order in which they are started: Replicate, fal, Google.
  const at = (index: number) => `http://127.0.0.1:${providersPort + index}`;
  const stopProviders = await startSimulatedProviders(providersPort);
  stops = [stopProviders];
  collector = await startTraceCollector();
  stops = [stopProviders, () => collector.close()];
  const stopStudio = await startStudio({
    ...serverEnv,
    ATELIER_DATA_DIR: dataDir,
    // Its prices: nothing is bought at an unknown one.
    ATELIER_CONFIG: path.join(import.meta.dirname, "../../testing/config/cloud.config.ts"),
    APP_URL: baseURL,
    PORT: new URL(baseURL).port,
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    // Longer than the journeys: spans are sent when a process stops.
    OTEL_BSP_SCHEDULE_DELAY: "3600000",
    FAL_API_KEY: "simulated",
    FAL_BASE_URL: at(1),
    GOOGLE_API_KEY: "simulated",
    // Nothing listens there: the first provider of the chain is away.
    GOOGLE_BASE_URL: `http://127.0.0.1:${providersPort + 20}/v1beta`,
  });
  stops = [stopStudio, ...stops];
  member = await createByCommand(dataDir);
});
test.afterAll(async () => {
  for (const stop of stops) await stop();
});

const words = "A lighthouse at dusk, long exposure";
const place = /Sent to Google for \$0\.067/;

test("E1 E2 E5 a prompt goes to a provider (SIMULATOR): where and for how much is said before the click; the next one of the chain makes the picture", async ({
  page,
}) => {
  await beMember(page);
  await page.goto("/create");
  await page.getByRole("textbox", { name: "Prompt", exact: true }).fill(words);
  await expect(page.getByText(place)).toBeVisible({ timeout: 120_000 });
  await page.getByRole("button", { name: /^Generate/ }).click();
  const results = page.getByRole("region", { name: "Pictures" });
  await expect(results.getByRole("button", { name: `Open: ${words}` })).toBeVisible({ timeout: 120_000 });
  await page.goto("/gallery");
  await expect(page.getByRole("checkbox", { name: /^Select Text to image/ })).toBeAttached();

  await page.goto("/jobs");
  await page
    .getByRole("link", { name: /Text to image/ })
    .first()
    .click();
  const asked = page.getByRole("region", { name: "Providers that were asked" });
  await expect(asked.getByText("Google: failed")).toBeVisible();
  await expect(asked.getByText("fal: made the picture")).toBeVisible();
  expect(await findBarriers(page)).toEqual([]);
});

test("E1 pictures that shall stay on the studio's own machines are not sent to a provider", async ({
  page,
}) => {
  await beMember(page);
  await page.goto("/create");
  await page.getByRole("textbox", { name: "Prompt", exact: true }).fill(words);
  await expect(page.getByText(place)).toBeVisible({ timeout: 120_000 });
  await page.getByRole("checkbox", { name: /^Only on our own machines/ }).click();
  await expect(page.getByText(place)).toBeHidden();
  await expect(page.getByRole("button", { name: /^Generate/ })).toBeDisabled();
});

test.describe("refusals and lost answers", () => {
  test.use({ expectedError: /status of 409|ERR_FAILED/ });

  test("E8 what has become dearer since it was shown is asked about once more, and one click makes one picture", async ({
    page,
  }) => {
    await beMember(page);
    // As if the price had been lower when the page showed it.
    await page.route("**/api/trpc/**jobs.estimate**", async (route) => {
      const response = await route.fetch();
      const text = await response.text();
      await route.fulfill({
        response,
        body: text.replaceAll(/"maxPriceUsd":0\.\d+/g, '"maxPriceUsd":0.001'),
      });
    });
    await page.goto("/create");
    const prompt = page.getByRole("textbox", { name: "Prompt", exact: true });
    await prompt.fill("A harbour in fog");
    await expect(page.getByText(place)).toBeVisible({ timeout: 120_000 });
    const make = page.getByRole("button", { name: /^Generate/ });
    await make.click();
    const dialog = page.getByRole("dialog", { name: "This costs money" });
    await expect(dialog.getByText(/at Google would make it now/)).toBeVisible();
    expect(await findBarriers(page)).toEqual([]);
    await dialog.getByRole("button", { name: "Cancel" }).click();
    await expect(dialog).toBeHidden();
    await expect(prompt).toHaveValue("A harbour in fog");
    await page.goto("/jobs");
    await expect(page.getByText("A harbour in fog")).toHaveCount(0);
    await page.goto("/create");
    await expect(page.getByText(place)).toBeVisible({ timeout: 120_000 });
    await make.click();
    await dialog.getByRole("button", { name: /^Make it for/ }).click();
    const results = page.getByRole("region", { name: "Pictures" });
    const made = results.getByRole("button", { name: "Open: A harbour in fog" });
    await expect(made).toBeVisible({ timeout: 120_000 });
    await expect(made).toHaveCount(1);
  });

  test("A4 a lost answer, a reload and a second click make one picture", async ({ page }) => {
    await beMember(page);
    await page.goto("/create");
    const words = "A bridge at noon";
    await page.getByRole("textbox", { name: "Prompt", exact: true }).fill(words);
    await expect(page.getByText(place)).toBeVisible({ timeout: 120_000 });
    const make = page.getByRole("button", { name: /^Generate/ });
    let lost = 0;
    await page.route("**/api/trpc/jobs.submit**", async (route) => {
      await route.fetch();
      lost += 1;
      await route.abort();
    });
    await make.click();
    await expect.poll(() => lost).toBe(1);
    await expect(make).toBeEnabled();
    await page.unroute("**/api/trpc/jobs.submit**");
    await page.reload();
    await expect(page.getByText(place)).toBeVisible({ timeout: 120_000 });
    const answered = page.waitForResponse(/jobs\.submit/);
    await make.click();
    await answered;
    await page.goto("/jobs");
    await expect(page.getByRole("link", { name: words })).toHaveCount(1);
  });
});

/** The last one: it stops the studio. */
test("S9 a picture of the built studio is one trace over its pages and its worker, and no span is lost when they stop", async ({
  page,
}) => {
  await beMember(page);
  await page.goto("/create");
  const prompt = "A tunnel of plane trees";
  await page.getByRole("textbox", { name: "Prompt", exact: true }).fill(prompt);
  await expect(page.getByText(place)).toBeVisible({ timeout: 120_000 });
  await page.getByRole("button", { name: /^Generate/ }).click();
  const results = page.getByRole("region", { name: "Pictures" });
  await expect(results.getByRole("button", { name: `Open: ${prompt}` })).toBeVisible({ timeout: 120_000 });
  await page.goto("about:blank");
  expect(collector.spans()).toEqual([]);
  await stops[0]?.();
  const spans = collector.spans();
  const runs = spans.filter(({ name }) => name === "run text_to_image");
  expect(runs.length).toBeGreaterThan(0);
  for (const { traceId, parentSpanId, service } of runs) {
    const accept = spans.find(({ spanId }) => spanId === parentSpanId);
    expect(accept).toMatchObject({ name: "accept text_to_image", service: "atelier-web", traceId });
    expect(service).toBe("atelier-worker");
  }
  const call = spans.find(({ name }) => name.startsWith("generate_content "));
  expect(call?.attributes).toMatchObject({ "gen_ai.operation.name": "generate_content" });
  expect(collector.text()).not.toContain(prompt);
});
