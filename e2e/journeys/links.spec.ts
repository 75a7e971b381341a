import { beUser } from "../steps/be-user.ts";
import { findBarriers } from "../steps/find-barriers.ts";
import { keepMessage } from "../steps/keep-message.ts";
import { uploadSample } from "../steps/upload-sample.ts";
import { expect, test } from "../test.ts";

test("a picture is shared with a password, opened by a visitor without an account, and revoked with undo", async ({
  page,
  browser,
}) => {
  await beUser(page);
  const imageId = await uploadSample(page, "rocket.jpg");
  await page.goto(`/gallery?image=${imageId}`);
  const viewer = page.getByRole("dialog", { name: "Picture", exact: true });
  await viewer.getByRole("button", { name: "Share" }).click();
  const dialog = page.getByRole("dialog", { name: "Share this picture" });
  await dialog.getByRole("textbox", { name: "Title" }).fill("To the moon");
  await dialog.getByRole("radio", { name: "In 1 day" }).click();
  await dialog.getByLabel("Password").fill("under the old oak");
  await dialog.getByRole("checkbox").click();
  await dialog.getByRole("button", { name: "Create link" }).click();
  const shown = dialog.getByRole("status").getByRole("code");
  await expect(shown).toHaveText(/\/l\/[\w-]{22,}$/);
  const address = await shown.innerText();

  const stranger = await browser.newContext();
  const visitor = await stranger.newPage();
  await visitor.goto(address);
  await expect(visitor.getByRole("heading", { name: "Enter the password" })).toBeVisible();
  await visitor.getByLabel("Password").fill("under the new oak");
  await visitor.keyboard.press("Enter");
  await expect(visitor.getByRole("alert")).toHaveText("That is not the password.");
  await visitor.getByLabel("Password").fill("under the old oak");
  await visitor.keyboard.press("Enter");
  await expect(visitor.getByRole("heading", { name: "To the moon" })).toBeVisible();
  const picture = visitor.getByRole("img", { name: "Picture 1" });
  await expect(picture).toHaveJSProperty("complete", true);
  await expect.poll(() => picture.evaluate((img: HTMLImageElement) => img.naturalWidth)).toBeGreaterThan(100);
  expect(await findBarriers(visitor)).toEqual([]);
  const started = visitor.waitForEvent("download");
  await visitor.getByRole("link", { name: "Download" }).click();
  expect((await started).suggestedFilename()).toBe("picture-1.jpg");
  // Neither a session nor another page of the studio.
  expect((await stranger.cookies()).map(({ name }) => name)).toEqual(["atelier-link"]);

  await page.goto("/settings");
  const links = page.getByRole("list", { name: "Links" });
  await expect(links).toContainText("To the moon");
  await expect(links).toContainText("with a password");
  const gone = visitor.getByRole("heading", { name: "Nothing is shown here" });
  await links.getByRole("button", { name: "Revoke To the moon" }).click();
  await keepMessage(page);
  await expect(page.getByText("No links yet.")).toBeVisible();
  await visitor.reload();
  await expect(gone).toBeVisible();
  await page.getByRole("button", { name: "Undo", exact: true }).click();
  await expect(links).toContainText("To the moon");
  await visitor.reload();
  await expect(visitor.getByRole("heading", { name: "To the moon" })).toBeVisible();
  await stranger.close();
});

test("@all a link that a browser fetches ahead is visited when it is shown", async ({ page, browser }) => {
  await beUser(page);
  const imageId = await uploadSample(page, "rocket.jpg");
  await page.goto(`/gallery?image=${imageId}`);
  await page
    .getByRole("dialog", { name: "Picture", exact: true })
    .getByRole("button", { name: "Share" })
    .click();
  const dialog = page.getByRole("dialog", { name: "Share this picture" });
  await dialog.getByRole("button", { name: "Create link" }).click();
  const address = await dialog.getByRole("status").getByRole("code").innerText();
  const readVisits = async () => {
    await page.goto("/settings");
    return page.getByRole("list", { name: "Links" }).innerText();
  };

  const stranger = await browser.newContext();
  const visitor = await stranger.newPage();
  const asked: string[] = [];
  await visitor.route(address, async (route) => {
    const headers = await route.request().allHeaders();
    asked.push(route.request().resourceType());
    const isPage = route.request().resourceType() === "document";
    await route.continue({
      headers: isPage ? { ...headers, purpose: "prefetch" } : headers,
    });
  });
  // As of a page that is rendered ahead.
  await visitor.addInitScript(() => {
    let isHidden = true;
    Object.defineProperty(document, "hidden", { get: () => isHidden });
    document.addEventListener("show", () => {
      isHidden = false;
      document.dispatchEvent(new Event("visibilitychange"));
    });
  });
  await visitor.goto(address);
  await expect(visitor.getByRole("img", { name: "Picture 1" })).toBeVisible();
  expect(await readVisits()).toContain("not opened yet");
  const show = () => visitor.evaluate(() => document.dispatchEvent(new Event("show")));
  await show();
  await expect.poll(readVisits).toContain("opened once");
  await show();
  expect(asked).toEqual(["document", "fetch"]);
  await stranger.close();
});
