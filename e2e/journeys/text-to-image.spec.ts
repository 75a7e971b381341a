import { beGuest } from "../steps/be-guest.ts";
import { sameSite } from "../steps/same-site.ts";
import { expect, test } from "../test.ts";

test("A4 a picture from words is offered, and refused with the engine to connect", async ({ page }) => {
  // Another journey shows it in the viewer of the API docs.
  const document = await page.request.get("/api/v1/openapi.json");
  expect(await document.text()).toContain('"text_to_image"');

  await beGuest(page);
  const answer = await page.request.post("/api/v1/jobs", {
    data: { kind: "text_to_image", params: { prompt: "a lighthouse at dusk" }, inputs: {} },
    ...sameSite(),
  });
  expect(answer.status()).toBeGreaterThanOrEqual(400);
  const problem: { code: string; detail: string } = await answer.json();
  expect(problem.code).toBe("no_engine");
  expect(problem.detail).toMatch(/needs a ComfyUI server; none is connected/);
});
