import { createHmac } from "node:crypto";
import { createAccount } from "../steps/create-account.ts";
import { signIn } from "../steps/sign-in.ts";
import { expect, test } from "../test.ts";

// Passkeys are of a name, not of an address.
test.use({
  baseURL: `http://localhost:${process.env["ATELIER_E2E_PORT"] ?? 3210}`,
  // Of the wrong code, and of the password that is gone.
  expectedError: /401.*(?:verify-totp|sign-in\/email)/,
});

const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";

/** The code that an authenticator app shows for this key (RFC 6238), some steps of 30 seconds from now. */
function codeOf(key: string, steps: number): string {
  const bits = Array.from(key, (letter) => letters.indexOf(letter).toString(2).padStart(5, "0")).join("");
  const secret = Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)));
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(Math.floor(Date.now() / 30_000) + steps));
  const mac = createHmac("sha1", secret).update(counter).digest();
  const number = mac.readUInt32BE((mac.at(-1) ?? 0) & 15) & 0x7fffffff;
  return String(number % 1_000_000).padStart(6, "0");
}

test("an authenticator app, its recovery codes and a passkey sign in, then the passkey alone @all", async ({
  page,
  context,
  baseURL,
}) => {
  // Passkeys are of a name, not of an address.
  await page.goto(`${baseURL?.replace("127.0.0.1", "localhost")}/`);
  const account = await createAccount(page);
  await page.goto("/settings");
  const factors = page.getByRole("region", { name: "Two factors" });
  await factors.getByRole("button", { name: "Set up an authenticator app" }).click();
  await factors.getByLabel("Password").fill(account.password);
  await factors.getByRole("button", { name: "Set up an authenticator app" }).click();
  await expect(factors.getByRole("img", { name: "QR code of the key" })).toBeVisible();
  await factors.getByRole("button", { name: "Cancel" }).click();
  await factors.getByRole("button", { name: "Set up an authenticator app" }).click();
  await factors.getByLabel("Password").fill(account.password);
  await factors.getByRole("button", { name: "Set up an authenticator app" }).click();
  const key = ((await factors.getByRole("code").textContent()) ?? "").replaceAll(" ", "");
  await factors.getByLabel("First code").fill(codeOf(key, 0));
  await factors.getByRole("button", { name: "Turn on" }).click();
  const shown = factors.getByRole("status").getByRole("listitem");
  await expect(shown).toHaveCount(10);
  const codes = await shown.allTextContents();
  await factors.getByRole("button", { name: "I have kept them" }).click();
  await expect(factors.getByText("On. 10 recovery codes are left.")).toBeVisible();

  const devtools = await context.newCDPSession(page);
  await devtools.send("WebAuthn.enable");
  const { authenticatorId } = await devtools.send("WebAuthn.addVirtualAuthenticator", {
    options: {
      protocol: "ctap2",
      transport: "internal",
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
  const passkeys = page.getByRole("region", { name: "Passkeys" });
  await passkeys.getByLabel("Name of the passkey").fill("Laptop");
  await passkeys.getByLabel("Password").fill(account.password);
  await passkeys.getByRole("button", { name: "Add a passkey" }).click();
  await expect(passkeys.getByText("Laptop")).toBeVisible();

  /** Whether somebody answers for the device: with `true` it takes up what a page offers, too. */
  const answers = (enabled: boolean) =>
    devtools.send("WebAuthn.setAutomaticPresenceSimulation", { authenticatorId, enabled });
  const leave = async () => {
    await answers(false);
    await page.goto("/settings");
    await page.getByRole("button", { name: "Sign out", exact: true }).click();
    await expect(page.getByRole("heading", { name: "Welcome back" })).toBeVisible();
  };
  // The offer of the page stands when the button asks: it is withdrawn first, else the browser would refuse the second request.
  await page.addInitScript(() => {
    // A blank page has none.
    if (!("credentials" in navigator)) return;
    const get = navigator.credentials.get.bind(navigator.credentials);
    navigator.credentials.get = (options) => {
      if (options?.mediation === "conditional") document.body.dataset["offers"] = "passkeys";
      return get(options);
    };
  });
  await leave();
  await expect(page.locator("body[data-offers]")).toBeVisible();
  await answers(true);
  await page.getByRole("button", { name: "Sign in with a passkey" }).click();
  await expect(page.getByRole("heading", { name: "Studio" })).toBeVisible();

  await leave();
  await page.goto("about:blank");
  await answers(true);
  await page.goto("/sign-in");
  await expect(page.getByRole("heading", { name: "Studio" })).toBeVisible();

  await leave();
  await signIn(page, account);
  await page.getByRole("textbox", { name: "Code", exact: true }).fill("000 000");
  await page.getByRole("button", { name: "Continue" }).click();
  await expect(page.getByText("This code is wrong.")).toBeVisible();
  const next = codeOf(key, 1);
  await page.getByRole("textbox", { name: "Code", exact: true }).fill(`${next.slice(0, 3)} ${next.slice(3)}`);
  await page.getByRole("button", { name: "Continue" }).click();
  await expect(page.getByRole("heading", { name: "Studio" })).toBeVisible();

  await leave();
  await signIn(page, account);
  await page.getByRole("button", { name: "Use a recovery code" }).click();
  await page.getByLabel("Recovery code").fill(codes[0] ?? "");
  await page.getByRole("button", { name: "Continue" }).click();
  await expect(page.getByRole("heading", { name: "Studio" })).toBeVisible();

  await page.goto("/settings");
  const password = page.getByRole("region", { name: "Password", exact: true });
  await password.getByRole("button", { name: "Remove the password" }).click();
  await expect(password.getByText("From then on you sign in with a passkey.")).toBeVisible();
  const form = password.locator("form", { hasText: "Yes, remove the password" });
  await form.getByLabel("Password").fill(account.password);
  await form.getByRole("button", { name: "Yes, remove the password" }).click();
  await expect(password.getByText("You sign in with a passkey.")).toBeVisible();
  await expect(factors).toHaveCount(0);
  await leave();
  await signIn(page, account);
  await expect(page.getByText("E-mail or password is wrong.")).toBeVisible();
  await page.goto("about:blank");
  await answers(true);
  await page.goto("/sign-in");
  await expect(page.getByRole("heading", { name: "Studio" })).toBeVisible();
});
