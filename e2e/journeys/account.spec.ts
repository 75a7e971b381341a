import { randomUUID } from "node:crypto";
import { beGuest } from "../steps/be-guest.ts";
import { createAccount } from "../steps/create-account.ts";
import { sameSite } from "../steps/same-site.ts";
import { signIn } from "../steps/sign-in.ts";
import { uploadSample } from "../steps/upload-sample.ts";
import { expect, test } from "../test.ts";

test.use({ expectedError: /status of 401.*\/api\/auth\/sign-in\/email/ });

test("A15 a guest becomes an account and keeps the pictures; a changed password is the only one", async ({
  page,
}) => {
  await beGuest(page);
  await uploadSample(page, "rocket.jpg");
  const account = await createAccount(page);
  await page.goto("/gallery");
  const rocket = page.getByRole("button", { name: "rocket", exact: true });
  await expect(rocket).toBeVisible();

  await page.goto("/settings");
  await expect(page.getByText(`Signed in as ${account.email}`)).toBeVisible();
  const newPassword = "another long password";
  await page.getByLabel("Current password").fill(account.password);
  await page.getByLabel("New password").fill(newPassword);
  const told = expect(page.getByText("Password changed")).toBeVisible();
  await page.getByRole("button", { name: "Change password" }).click();
  await told;

  await page.getByRole("button", { name: "Sign out", exact: true }).click();
  await expect(page.getByRole("heading", { name: "Welcome back" })).toBeVisible();
  await page.goto("/gallery");
  await expect(page.getByText("Bare walls")).toBeVisible();

  await signIn(page, account);
  await expect(page.getByRole("alert").filter({ hasText: "E-mail or password is wrong." })).toBeVisible();
  await signIn(page, { ...account, password: newPassword });
  await expect(page.getByRole("heading", { name: "Studio" })).toBeVisible();
  await page.goto("/gallery");
  await expect(rocket).toBeVisible();
});

test("an address that a client claims for itself does not stand in its session", async ({ page }) => {
  await beGuest(page);
  const headers = { ...sameSite().headers, "x-forwarded-for": "203.0.113.9" };
  const account = { name: "Ada", email: `${randomUUID()}@example.org`, password: "a long enough password" };
  const made = await page.request.post("/api/auth/sign-up/email", { data: account, headers });
  expect(made.ok(), await made.text()).toBe(true);
  const sessions = await (await page.request.get("/api/trpc/account.sessions")).json();
  expect(sessions).toMatchObject({ result: { data: { json: { items: [{ address: "127.0.0.1" }] } } } });
});

test("a request for another host name is refused", async ({ page }) => {
  for (const path of ["/", "/api/ready"]) {
    const answer = await page.request.get(path, { headers: { host: "evil.example:3210" } });
    expect([path, answer.status()]).toEqual([path, 421]);
  }
});
