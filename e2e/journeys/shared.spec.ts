import { readFileSync } from "node:fs";
import type { Page } from "@playwright/test";
import { beUser } from "../steps/be-user.ts";
import type { Account } from "../steps/create-account.ts";
import { type Sample, samplePath } from "../steps/samples.ts";
import { expect, test } from "../test.ts";

/** Opens the studio at the address to which a phone sends what is shared, with the files in the form that it sends. */
async function share(page: Page, names: readonly Sample[], baseURL = ""): Promise<void> {
  const photos = names.map((name) => ({ name, base64: readFileSync(samplePath(name), "base64") }));
  const action = `${baseURL}/shared/take`;
  const send = async ({ sent, to }: { readonly sent: typeof photos; readonly to: string }) => {
    const data = new DataTransfer();
    for (const { name, base64 } of sent) {
      const bytes = Uint8Array.from(atob(base64), (letter) => letter.codePointAt(0) ?? 0);
      data.items.add(new File([bytes], name, { type: "image/png" }));
    }
    const input = Object.assign(document.createElement("input"), { type: "file", name: "pictures" });
    const form = Object.assign(document.createElement("form"), {
      method: "POST",
      enctype: "multipart/form-data",
      action: to,
    });
    input.files = data.files;
    form.append(input);
    document.body.append(form);
    form.submit();
  };
  await page.evaluate(send, { sent: photos, to: action });
  await page.waitForURL("**/shared**");
}

async function enter(page: Page, { email, password }: Account): Promise<void> {
  await page.getByRole("textbox", { name: "E-mail" }).fill(email);
  await page.getByLabel("Password").fill(password);
  await page.getByRole("button", { name: "Sign in", exact: true }).tap();
}

/** The worker that takes shared files is there, as on a phone once the studio was opened from the home screen. */
async function beReady(page: Page): Promise<void> {
  await page.goto("/shared");
  await expect
    .poll(() =>
      page.evaluate(async () =>
        Boolean((await navigator.serviceWorker.getRegistration("/shared/take"))?.active),
      ),
    )
    .toBe(true);
}

test("A5 @all @phone photos that another app shares are shown, kept, and go up with a press", async ({
  page,
}) => {
  await beUser(page);
  await page.goto("/gallery");
  await share(page, ["coffee.png"]);
  await expect(page.getByRole("heading", { name: "Share the photos once more" })).toBeVisible();

  await beReady(page);
  await expect(page.getByRole("heading", { name: "Nothing was shared" })).toBeVisible();
  await share(page, ["coffee.png", "chelsea.png"]);
  const photos = page.getByRole("main").getByRole("listitem");
  await expect(photos).toHaveText(["coffee.png", "chelsea.png"]);
  await page.reload();
  await expect(photos).toHaveCount(2);
  await page.getByRole("button", { name: "Discard" }).tap();
  await expect(page.getByRole("heading", { name: "Nothing was shared" })).toBeVisible();
  await page.getByRole("button", { name: "Undo" }).tap();
  await page.getByRole("button", { name: "Upload 2 photos" }).tap();
  const tiles = page.getByRole("group", { name: "Pictures", exact: true }).getByRole("button");
  await expect(tiles).toHaveCount(2);
  await page.goto("/shared");
  await expect(page.getByRole("heading", { name: "Nothing was shared" })).toBeVisible();
});

test("S1 @phone a form of another site leaves no files with the studio", async ({ page, baseURL }) => {
  await beUser(page);
  await beReady(page);
  await page.route("http://other.test/", (route) =>
    route.fulfill({ contentType: "text/html", body: "<title>Other</title>" }),
  );
  await page.goto("http://other.test/");
  await share(page, ["coffee.png"], baseURL);
  await expect(page.getByRole("heading", { name: "Nothing was shared" })).toBeVisible();
});

test("A5 @all @phone what was shared outlasts a session that ended, and not a sign-out", async ({ page }) => {
  const account = await beUser(page);
  await beReady(page);
  // Noted when the page has asked who uses it: only a user with an account is led to the sign-in.
  await expect.poll(() => page.evaluate(() => localStorage.getItem("atelier-account"))).toBe("true");
  await page.context().clearCookies();
  await share(page, ["coffee.png"]);
  await page.waitForURL("**/sign-in");
  await enter(page, account);
  await expect(page.getByRole("button", { name: "Upload the photo" })).toBeVisible();

  await page.goto("/settings");
  await page.getByRole("button", { name: "Sign out", exact: true }).tap();
  await page.waitForURL("**/sign-in");
  await enter(page, account);
  await page.waitForURL((url) => url.pathname === "/");
  await page.goto("/shared");
  await expect(page.getByRole("heading", { name: "Nothing was shared" })).toBeVisible();
});

test("@all A5 @phone the studio can be put on a home screen, in the language of the browser", async ({
  page,
}) => {
  await page.goto("/sign-in");
  const browser = await page.context().newCDPSession(page);
  const { url, errors } = await browser.send("Page.getAppManifest");
  expect([new URL(url).pathname, errors]).toEqual(["/manifest.webmanifest", []]);
  const { installabilityErrors } = await browser.send("Page.getInstallabilityErrors");
  expect(installabilityErrors).toEqual([]);

  const answer = await page.request.get(url, { headers: { "accept-language": "de-AT" } });
  const { lang, shortcuts, icons, share_target: target } = await answer.json();
  expect([lang, shortcuts[0].name, target.action]).toEqual(["de", "Galerie", "/shared/take"]);
  const touchIcon = await page.locator("link[rel=apple-touch-icon]").getAttribute("href");
  const addresses = [...icons, ...shortcuts[0].icons].map(({ src }: { readonly src: string }) => src);
  for (const address of [...addresses, String(touchIcon)]) {
    const icon = await page.request.get(address);
    expect([address, icon.status(), icon.headers()["content-type"]]).toEqual([address, 200, "image/png"]);
  }
});
