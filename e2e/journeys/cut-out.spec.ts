import sharp from "sharp";
import { beGuest } from "../steps/be-guest.ts";
import { chooseMode } from "../steps/choose-mode.ts";
import { readOpacity } from "../steps/read-opacity.ts";
import { sameSite } from "../steps/same-site.ts";
import { shownImageId } from "../steps/shown-image-id.ts";
import { uploadSample } from "../steps/upload-sample.ts";
import { expect, test } from "../test.ts";

test("D1 a person is cut out, the ground becomes transparent", async ({ page }) => {
  await beGuest(page);
  const id = await uploadSample(page, "astronaut.png");
  await page.goto(`/edit/${id}`);
  await chooseMode(page, "Background");
  await page.getByRole("button", { name: "Remove background", exact: true }).click();
  const versions = page.getByRole("list", { name: "Versions" });
  await expect(versions.getByRole("button", { name: "Version 2" })).toHaveAttribute("aria-current", "true", {
    timeout: 120_000,
  });

  const picture = page.getByRole("img", { name: "The picture you edit" });
  await expect.poll(() => shownImageId(picture)).not.toBe(id);
  const resultId = await shownImageId(picture);
  const face = { x: 225, y: 110 };
  const ground = { x: 490, y: 60 };
  expect(await readOpacity(page, resultId, [face, ground])).toEqual([255, 0]);
  await expect(page.getByText("Made with AI")).toBeAttached();

  await page.getByRole("button", { name: "Compare" }).click();
  await expect(page.getByRole("slider", { name: "Before and after" })).toBeVisible();
});

test("D1 D8 @all a picture in which nothing stands out is refused in words", async ({ page }) => {
  await beGuest(page);
  const wall = sharp({ create: { width: 480, height: 320, channels: 3, background: "#8aa599" } });
  const file = { name: "wall.png", mimeType: "image/png", buffer: await wall.png().toBuffer() };
  const answer = await page.request.post("/api/v1/uploads", { multipart: { file }, ...sameSite() });
  const { id }: { id: string } = await answer.json();
  await page.goto(`/edit/${id}`);
  const actions = page.getByRole("complementary", { name: "Actions" });
  await chooseMode(page, "Background");
  await actions.getByRole("button", { name: "Remove background", exact: true }).click();
  const refusal = actions.getByRole("region", { name: "Remove background" });
  await expect(refusal.getByText("Nothing stands out")).toBeVisible({ timeout: 120_000 });
  await expect(refusal.getByText(/Choose a picture with one clear subject/)).toBeVisible();
  await expect(refusal.getByRole("button", { name: "Try again" })).toHaveCount(0);
});
