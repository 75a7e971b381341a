import { beGuest } from "../steps/be-guest.ts";
import { findBarriers } from "../steps/find-barriers.ts";
import { keepMessage } from "../steps/keep-message.ts";
import { sameSite } from "../steps/same-site.ts";
import { uploadSample } from "../steps/upload-sample.ts";
import { expect, test } from "../test.ts";

const madeMs = 120_000;

test("D1 a batch fills its grid, opens its pictures beside their sources, and comes back after it was deleted", async ({
  page,
}) => {
  await beGuest(page);
  const inputs = { image: await uploadSample(page, "astronaut.png", 192) };
  const jobs = [
    { kind: "remove_background", inputs, steps: [{ kind: "upscale" }] },
    { kind: "upscale", inputs },
  ];
  const sent = await page.request.post("/api/v1/batches", {
    data: { title: "Two ways", jobs },
    ...sameSite(),
  });
  expect(sent.status(), await sent.text()).toBe(202);

  await page.goto("/jobs");
  await page.getByRole("button", { name: "Batches" }).click();
  await page
    .getByRole("list", { name: "Batches" })
    .getByRole("link", { name: /Two ways/ })
    .click();
  await expect(page.getByRole("heading", { name: "Two ways" })).toBeVisible();
  await expect(page.getByRole("main").getByRole("status")).toContainText("2 of 2 done · free of charge", {
    timeout: madeMs,
  });
  const pictures = page.getByRole("button", { name: /^Open the picture: / });
  await expect(pictures).toHaveCount(2);
  expect(await findBarriers(page)).toEqual([]);

  await pictures.nth(1).click();
  const viewer = page.getByRole("dialog");
  await expect(viewer.getByRole("slider", { name: "Before and after" })).toBeVisible();
  await page.keyboard.press("Escape");
  await expect(viewer).toBeHidden();
  await expect(pictures.nth(1)).toBeFocused();

  for (const [name, type] of [
    ["Zip", "application/zip"],
    ["Contact sheet", "image/png"],
  ] as const) {
    const href = await page.getByRole("link", { name }).getAttribute("href");
    const file = await page.request.get(href ?? "");
    expect([file.status(), file.headers()["content-type"]]).toEqual([200, type]);
  }

  await page.getByRole("button", { name: "Delete", exact: true }).click();
  await keepMessage(page);
  await expect(page.getByRole("heading", { name: "No batches yet" })).toBeVisible();
  await page.getByRole("button", { name: "Undo" }).click();
  await expect(page.getByRole("link", { name: /Two ways/ })).toBeVisible();
});
