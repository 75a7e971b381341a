import { readFile } from "node:fs/promises";
import { beAdmin } from "../steps/be-admin.ts";
import { beGuest } from "../steps/be-guest.ts";
import { beUser } from "../steps/be-user.ts";
import { createAccount } from "../steps/create-account.ts";
import { findBarriers } from "../steps/find-barriers.ts";
import { sidewaysPx } from "../steps/sideways-px.ts";
import { signIn } from "../steps/sign-in.ts";
import { uploadSample } from "../steps/upload-sample.ts";
import { expect, test } from "../test.ts";

test.use({ expectedError: /status of 40[13]/ });

test("@all S1 D9 an admin limits, suspends, lets in again and deletes a user, who sees each at once", async ({
  page,
  browser,
}) => {
  const account = await beUser(page);
  await uploadSample(page, "rocket.jpg");
  await page.goto("/");
  await expect(page.getByRole("heading", { name: "Studio" })).toBeVisible();
  const admin = await (await browser.newContext()).newPage();
  await beAdmin(admin);
  await admin.goto("/admin/users");
  await admin.getByRole("searchbox", { name: "Search the users" }).fill(account.email);
  await expect(admin).toHaveURL(/search=/);
  const row = admin.getByRole("row").filter({ hasText: account.email });
  await row.getByRole("link", { name: "Ada", exact: true }).click();
  await expect(admin.getByRole("heading", { name: "Ada" })).toBeVisible();

  await admin.getByLabel("Own limit in MB").fill("50");
  await admin.getByRole("button", { name: "Save limit" }).click();
  await expect(admin.getByText(/^[\d.]+ MB of 50 MB$/)).toBeVisible();
  expect(await findBarriers(admin)).toEqual([]);
  await admin.setViewportSize({ width: 390, height: 844 });
  await expect.poll(() => sidewaysPx(admin)).toBeLessThanOrEqual(0);
  await admin.setViewportSize({ width: 1680, height: 1050 });

  await admin.getByRole("button", { name: "Suspend Ada" }).click();
  await admin.getByRole("button", { name: "Yes, suspend" }).click();
  await expect(admin.getByRole("main").getByText("Suspended", { exact: true })).toBeVisible();
  // The page of the user notices by itself.
  await expect(page.getByRole("heading", { name: "Welcome back" })).toBeVisible();
  await signIn(page, account);
  await expect(
    page.getByText("An admin of this studio has suspended this account. Ask them about it."),
  ).toBeVisible();
  await admin.getByRole("button", { name: "Unsuspend" }).click();

  await admin.getByRole("button", { name: "New password link" }).click();
  const link = await admin.getByRole("status").locator("code").innerText();
  await page.goto(link);
  await page.locator("form").getByLabel("New password").fill("a password of my own");
  await page.getByRole("button", { name: "Set password" }).click();
  await expect(page.getByText("Your new password is set.")).toBeVisible();
  await signIn(page, { ...account, password: "a password of my own" });
  await expect(page.getByRole("heading", { name: "Studio" })).toBeVisible();

  await admin.getByLabel(`Type ${account.email} to confirm`).fill(account.email);
  const told = expect(admin.getByText("User deleted with everything")).toBeVisible();
  await admin.getByRole("button", { name: "Delete user" }).click();
  await told;
  await admin.getByRole("searchbox", { name: "Search the users" }).fill(account.email);
  await expect(admin.getByText("No user found")).toBeVisible();
  await expect(page.getByRole("heading", { name: "Welcome back" })).toBeVisible();
  await admin.context().close();
});

test("@all S1 an account whose session ended while no page was open signs in again, a guest goes on as a new one", async ({
  page,
  baseURL,
}) => {
  const endSession = async () => {
    await page.goto("about:blank");
    await page.context().addCookies([
      {
        name: `atelier-${new URL(String(baseURL)).port}.session_token`,
        value: "of.old",
        url: String(baseURL),
      },
    ]);
  };
  await beGuest(page);
  await uploadSample(page, "rocket.jpg");
  await endSession();
  await page.goto("/gallery");
  await expect(page.getByText("Bare walls")).toBeVisible();
  await createAccount(page);
  await endSession();
  await page.goto("/gallery");
  await expect(page.getByRole("heading", { name: "Welcome back" })).toBeVisible();
  // Who does not want to may look around.
  await page.goto("/gallery");
  await expect(page.getByText("Bare walls")).toBeVisible();
});

test("@all an account takes its data along and leaves; a guest deletes everything too", async ({ page }) => {
  const account = await beUser(page);
  await uploadSample(page, "rocket.jpg");
  await page.goto("/settings");
  const downloading = page.waitForEvent("download");
  await page.getByRole("link", { name: "Export my data" }).click();
  const download = await downloading;
  expect(download.suggestedFilename()).toMatch(/^atelier-\d{4}-\d{2}-\d{2}\.zip$/);
  const zip = await readFile(await download.path());
  expect(zip.subarray(0, 2).toString()).toBe("PK");
  expect(zip.includes("_rocket_")).toBe(true);

  await page.getByRole("button", { name: "Delete account" }).click();
  const dialog = page.getByRole("dialog");
  expect(await findBarriers(page)).toEqual([]);
  await dialog.getByLabel("Type delete to confirm").fill("delete");
  await dialog.getByLabel("Your password").fill("not my password");
  await dialog.getByRole("button", { name: "Delete for good" }).click();
  await expect(dialog.getByText("This is not your password.")).toBeVisible();
  await dialog.getByLabel("Your password").fill(account.password);
  await dialog.getByRole("button", { name: "Delete for good" }).click();
  await expect(page.getByRole("heading", { name: "Welcome back" })).toBeVisible();
  await signIn(page, account);
  await expect(page.getByText("E-mail or password is wrong.")).toBeVisible();

  await page.goto("/");
  // Its visitor becomes a guest.
  await expect.poll(async () => (await page.request.get("/api/v1/images")).status()).toBe(200);
  await uploadSample(page, "rocket.jpg");
  await page.goto("/settings");
  await page.getByRole("button", { name: "Delete everything" }).click();
  await dialog.getByLabel("Type delete to confirm").fill("delete");
  await dialog.getByRole("button", { name: "Delete for good" }).click();
  await expect(page.getByRole("heading", { name: "Welcome back" })).toBeVisible();
  await page.goto("/gallery");
  await expect(page.getByText("Bare walls")).toBeVisible();
});
