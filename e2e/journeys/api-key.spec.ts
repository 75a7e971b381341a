import { beUser } from "../steps/be-user.ts";
import { uploadSample } from "../steps/upload-sample.ts";
import { expect, test } from "../test.ts";

test("A16 S9 an API key is shown once, opens the HTTP API, and is worth nothing once revoked", async ({
  page,
  baseURL,
}) => {
  await beUser(page);
  await uploadSample(page, "rocket.jpg");
  await page.goto("/settings");
  await page.getByRole("textbox", { name: "Name of the key" }).fill("My script");
  await page.getByRole("button", { name: "Create key" }).click();
  const shown = page.getByRole("status").filter({ hasText: "It is not shown again." });
  const key = (await shown.getByRole("code").textContent()) ?? "";
  expect(key).toMatch(/^atelier_\w{20,}/);

  const listImages = () => fetch(`${baseURL}/api/v1/images`, { headers: { Authorization: `Bearer ${key}` } });
  const listed = await listImages();
  expect(listed.status).toBe(200);
  const { items }: { items: unknown[] } = await listed.json();
  expect(items).toHaveLength(1);

  await page.reload();
  const keys = page.getByRole("list", { name: "API keys" });
  await expect(keys.getByText("My script")).toBeVisible();
  await expect(page.getByText(key)).toHaveCount(0);
  await keys.getByRole("button", { name: "Revoke My script" }).click();
  const question = page.getByRole("dialog", { name: "Revoke “My script”?" });
  await question.getByRole("button", { name: "Keep it" }).click();
  expect((await listImages()).status).toBe(200);
  await keys.getByRole("button", { name: "Revoke My script" }).press("Enter");
  await question.getByRole("button", { name: "Revoke key" }).press("Enter");
  await expect(page.getByText("My script")).toHaveCount(0);
  expect((await listImages()).status).toBe(401);

  await page.getByRole("textbox", { name: "Name of the key" }).fill("Only looks");
  await page.getByRole("combobox", { name: "Ends" }).click();
  await page.getByRole("option", { name: "After 7 days" }).click();
  for (const right of [/^Make and change/, /^Spend money/])
    await page.getByRole("checkbox", { name: right }).click();
  await page.getByRole("button", { name: "Create key" }).click();
  await expect(keys.getByText(/^Look · ends /)).toBeVisible();
  const headers = { Authorization: `Bearer ${await shown.getByRole("code").textContent()}` };
  expect((await fetch(`${baseURL}/api/v1/images`, { headers })).status).toBe(200);
  expect((await fetch(`${baseURL}/api/v1/boards`, { method: "POST", headers })).status).toBe(403);
});
