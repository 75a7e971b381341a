import { rm, writeFile } from "node:fs/promises";
import {
  startIdentityProvider,
  testClientId,
  testClientSecret,
  type TestProvider,
} from "@atelier/testing/identity";
import type { Page } from "@playwright/test";
import { findFreePort } from "../../scripts/process/tools.ts";
import { startStudio } from "../steps/start-studio.ts";
import { expect, test } from "../test.ts";

const personOf = (name: string, groups: string[]) => ({
  name,
  groups,
  email: `${name.toLowerCase()}@example.org`,
  email_verified: true,
});

let house: TestProvider;
let stopStudio: (() => Promise<void>) | undefined;
let config = "";
let studio = "";

test.beforeAll(async ({ serverEnv }) => {
  const port = await findFreePort();
  studio = `http://127.0.0.1:${port}`;
  house = await startIdentityProvider({
    redirectUris: [`${studio}/api/auth/callback/house`],
    people: { ada: personOf("Ada", ["studio-admins"]), otto: personOf("Otto", ["kitchen"]) },
  });
  const provider = {
    name: "Example Ltd",
    issuer: house.issuer,
    clientId: testClientId,
    allowedGroups: ["studio"],
    adminGroups: ["studio-admins"],
    opensEntry: true,
  };
  const dataDir = `${serverEnv["ATELIER_DATA_DIR"]}-identity`;
  config = `${dataDir}.config.mjs`;
  await writeFile(
    config,
    `export default ${JSON.stringify({ signIn: { passwords: false, providers: { house: provider } } })};\n`,
  );
  stopStudio = await startStudio({
    ...serverEnv,
    ATELIER_DATA_DIR: dataDir,
    ATELIER_CONFIG: config,
    OIDC_CLIENT_SECRETS: JSON.stringify({ house: testClientSecret }),
    APP_URL: studio,
    PORT: String(port),
    // The bucket of a run over one belongs to the other studio.
    ...Object.fromEntries(
      Object.keys(serverEnv).flatMap((name) => (name.startsWith("S3_") ? [[name, ""]] : [])),
    ),
  });
});
test.afterAll(async () => {
  try {
    await stopStudio?.();
  } finally {
    await house.close();
    await rm(config, { force: true });
  }
});

/** From the sign-in page through the login pages of the provider. */
async function enterAs(page: Page, login: string): Promise<void> {
  await page.goto(`${studio}/sign-in`);
  await page.getByRole("button", { name: "Continue with Example Ltd" }).click();
  await page.getByPlaceholder("Enter any login").fill(login);
  await page.getByPlaceholder("and password").fill("any");
  await page.getByRole("button", { name: "Sign-in" }).click();
  await page.getByRole("button", { name: "Continue", exact: true }).click();
}

test("S1 a group of the provider opens the studio and makes an admin, another one does neither @all", async ({
  page,
  context,
}) => {
  // The login page of the provider asks for a font.
  await context.route(/fonts\.googleapis\.com/, (route) =>
    route.fulfill({ contentType: "text/css", body: "" }),
  );
  await enterAs(page, "otto");
  await expect(
    page.getByRole("alert").filter({ hasText: "Your account at Example Ltd has no access" }),
  ).toBeVisible();
  await expect(page.getByLabel("Password")).toHaveCount(0);

  // The provider would know who was here.
  await context.clearCookies();
  await enterAs(page, "ada");
  await expect(page.getByRole("heading", { name: "Studio" })).toBeVisible();
  await page.goto(`${studio}/admin/users`);
  await expect(page.getByRole("row").filter({ hasText: "ada@example.org" })).toContainText("Admin");
  await page.goto(`${studio}/settings`);
  const password = page.getByRole("region", { name: "Password", exact: true });
  await expect(password).toContainText("This studio takes no passwords. Passkeys work all the same.");
  await expect(password).toContainText("You sign in with Example Ltd.");
  const providers = page.getByRole("region", { name: "Sign-in providers" });
  await expect(providers.getByRole("listitem")).toContainText("This is the only way to sign in.");
});
