import { beGuest } from "../steps/be-guest.ts";
import { chooseMode } from "../steps/choose-mode.ts";
import { countChanges } from "../steps/count-changes.ts";
import { findBarriers } from "../steps/find-barriers.ts";
import { readPixel } from "../steps/read-pixel.ts";
import { shownImageId } from "../steps/shown-image-id.ts";
import { uploadSample } from "../steps/upload-sample.ts";
import { expect, test } from "../test.ts";

test("@all D1 a background becomes transparent, a colour and another picture, and the person stays as she was", async ({
  page,
}) => {
  await beGuest(page);
  await uploadSample(page, "coffee.png");
  const id = await uploadSample(page, "astronaut.png");
  await page.goto(`/edit/${id}`);
  await chooseMode(page, "Background");
  const picture = page.getByRole("img", { name: "The picture you edit" });
  const versions = page.getByRole("list", { name: "Versions" });
  const stays = async (after: string) => {
    const face = { x: 200, y: 95, width: 50, height: 60 };
    await expect.poll(() => countChanges(page, { before: id, after, box: face })).toBe(0);
  };
  const nextVersion = async (number: number, before: string) => {
    await expect(versions.getByRole("button", { name: new RegExp(`^Version ${number}`) })).toHaveAttribute(
      "aria-current",
      "true",
    );
    await expect.poll(() => shownImageId(picture)).not.toBe(before);
    return shownImageId(picture);
  };

  await page.getByRole("radio", { name: "Prompt", exact: true }).click();
  await expect(page.getByText("Needs a server or a provider that paints by a prompt")).toBeVisible();
  await expect(page.getByRole("button", { name: "Paint background", exact: true })).toBeDisabled();

  await page.getByRole("radio", { name: "Colour", exact: true }).click();
  const swatches = page.getByRole("radiogroup", { name: "Colour of the background" });
  await swatches.getByRole("radio", { name: "Sand" }).click();
  const code = page.getByRole("textbox", { name: "Colour as #rrggbb" });
  await expect(code).toHaveValue("#d9c3a0");
  await code.fill("not a colour");
  await code.press("Enter");
  await expect(code).toHaveValue("#d9c3a0");
  await code.fill("2E8B57");
  await code.press("Enter");
  await expect(code).toHaveValue("#2e8b57");
  await expect(page.getByText(/^On this computer, free\. Starts .*, runs /)).toBeVisible();
  expect(await findBarriers(page)).toEqual([]);
  await expect(page.getByRole("status").filter({ hasText: /^Saved$/ })).toBeVisible();
  await page.reload();
  await expect(code).toHaveValue("#2e8b57");
  await page.getByRole("button", { name: "Set colour", exact: true }).click();
  const coloured = await nextVersion(2, id);
  expect(await readPixel(page, coloured, 8, 8)).toEqual([0x2e, 0x8b, 0x57, 255]);
  await stays(coloured);

  await versions.getByRole("button", { name: /^Version 1/ }).click();
  await expect.poll(() => shownImageId(picture)).toBe(id);
  await page.getByRole("radio", { name: "Picture", exact: true }).click();
  const set = page.getByRole("button", { name: "Set picture", exact: true });
  await expect(page.getByText("Choose a picture, upload or drop one.")).toBeVisible();
  await expect(set).toBeDisabled();
  await page.getByRole("button", { name: /^Use coffee/ }).click();
  await page.getByRole("slider", { name: "Position from left to right" }).press("Home");
  expect(await findBarriers(page)).toEqual([]);
  await expect(set).toBeEnabled();
  await set.click();
  const laid = await nextVersion(3, id);
  // The left end of the photo of a coffee is dark wood.
  const [red = 255, green = 255, blue = 255, alpha] = await readPixel(page, laid, 8, 8);
  expect([red < 90, green < 90, blue < 90, alpha]).toEqual([true, true, true, 255]);
  await stays(laid);

  await versions.getByRole("button", { name: /^Version 1/ }).click();
  await page.getByRole("radio", { name: "Transparent", exact: true }).click();
  await page.getByRole("button", { name: "Remove background", exact: true }).click();
  const cut = await nextVersion(4, id);
  expect((await readPixel(page, cut, 8, 8))[3]).toBe(0);

  // Of a cut-out the stage shows the new ground before it is made.
  await page.getByRole("radio", { name: "Colour", exact: true }).click();
  await swatches.getByRole("radio", { name: "Black" }).click();
  await page.getByRole("button", { name: "Set colour", exact: true }).click();
  const onBlack = await nextVersion(5, cut);
  expect(await readPixel(page, onBlack, 8, 8)).toEqual([0, 0, 0, 255]);
  await stays(onBlack);
});
