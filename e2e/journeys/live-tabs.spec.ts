import { beGuest } from "../steps/be-guest.ts";
import { countStreams } from "../steps/count-streams.ts";
import { submitJob } from "../steps/submit-job.ts";
import { uploadSample } from "../steps/upload-sample.ts";
import { expect, test } from "../test.ts";

const tabCount = 8;
const handoverMs = 2_000;
/** A leading tab that is silent for so long loses the lead (app/live/tabs.ts). */
const answerMs = 3_000;

test("@all D7 eight tabs share one stream; when its tab closes another takes over within two seconds", async ({
  page: first,
  context,
}) => {
  const streams = countStreams(context);
  await beGuest(first);
  const image = await uploadSample(first, "coffee.png");
  await first.goto("/jobs");
  await expect.poll(streams.openCount).toBe(1);
  const tabs = [first];
  let slowestMs = 0;
  let slow = 0;
  for (let tab = 1; tab < tabCount; tab += 1) {
    const beganMs = performance.now();
    const page = await context.newPage();
    await page.goto("/jobs");
    await expect(page.getByText("No jobs here")).toBeVisible();
    tabs.push(page);
    const tookMs = performance.now() - beganMs;
    slowestMs = Math.max(slowestMs, tookMs);
    if (tookMs >= answerMs) slow += 1;
  }
  await expect.poll(streams.openCount).toBe(1);
  // A machine that stands still while a tab opens may cost the leading one its lead.
  const opened = streams.openedCount();
  expect(opened).toBeLessThanOrEqual(1 + slow);

  await submitJob(first, { kind: "remove_background", inputs: { image } });
  for (const page of tabs) {
    await expect(page.getByRole("list", { name: "Jobs" }).getByText("Done")).toHaveCount(1, {
      timeout: 120_000,
    });
  }

  // Where a tab takes longer to open, this may take as long, and three times the limit at most.
  const longestMs = Math.min(Math.max(handoverMs, slowestMs), 3 * handoverMs);
  const tookMs: number[] = [];
  // Up to three times, since the machine may stand still just then.
  while (tookMs.length < 3 && !tookMs.some((ms) => ms <= longestMs)) {
    const leader = streams.leader();
    if (leader === undefined) throw new Error("No tab leads.");
    tabs.splice(tabs.indexOf(leader), 1);
    await leader.close();
    const beganMs = performance.now();
    await expect.poll(streams.openCount, { intervals: [20] }).toBe(1);
    tookMs.push(performance.now() - beganMs);
  }
  expect(Math.min(...tookMs)).toBeLessThanOrEqual(longestMs);
  const [left] = tabs;
  if (left === undefined) throw new Error("There is no tab left.");
  await submitJob(left, { kind: "remove_background", inputs: { image } });
  for (const page of tabs) {
    await expect(page.getByRole("list", { name: "Jobs" }).getByText("Done")).toHaveCount(2, {
      timeout: 120_000,
    });
  }
  expect(streams.openedCount()).toBe(opened + tookMs.length);
});

test("D7 @all a job that ends while every tab is hidden is told once by the browser, if the user asked for it", async ({
  page,
  context,
}) => {
  const shown: string[] = [];
  await context.grantPermissions(["notifications"]);
  await context.exposeFunction("noteShown", (title: string) => shown.push(title));
  await context.addInitScript(() => {
    let state: DocumentVisibilityState = "visible";
    Object.defineProperty(document, "visibilityState", { get: () => state });
    Object.assign(window, {
      setVisibility(next: DocumentVisibilityState) {
        state = next;
        document.dispatchEvent(new Event("visibilitychange"));
      },
      Notification: class extends EventTarget {
        static permission = "granted";
        constructor(title: string) {
          super();
          void Reflect.get(window, "noteShown")(title);
        }
        close() {}
      },
    });
  });
  await beGuest(page);
  const image = await uploadSample(page, "coffee.png", 96);
  await page.goto("/settings");
  await page.getByRole("checkbox", { name: "Notify me on this device" }).click();
  await page.getByRole("button", { name: "Send a test" }).click();
  await expect.poll(() => shown).toEqual(["This is a test"]);
  const other = await context.newPage();
  await other.goto("/jobs");
  await expect(other.getByText("No jobs here")).toBeVisible();
  for (const tab of [page, other])
    await tab.evaluate(() => void Reflect.get(window, "setVisibility")("hidden"));
  await submitJob(page, { kind: "upscale", inputs: { image } });
  await expect.poll(() => shown, { timeout: 120_000 }).toEqual(["This is a test", "Upscale is done"]);
  await expect.poll(() => other.title()).toMatch(/^\(1\) /);
  await other.evaluate(() => void Reflect.get(window, "setVisibility")("visible"));
  await expect.poll(() => other.title()).not.toMatch(/^\(/);
});
