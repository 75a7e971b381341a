import { authOf, createUser } from "@atelier/server/accounts";
import type { Services } from "@atelier/server/services";

export const testOrigin = "http://localhost:3000";

/** A browser without a screen: keeps cookies and sends Origin and Host as browsers do. */
export interface TestBrowser {
  readonly headers: Headers;
  /** POST to /api/auth/... with JSON. */
  auth(path: string, body?: unknown, headers?: Record<string, string>): Promise<Response>;
  /** Takes over the cookies of an answer. */
  keepCookies(response: Response): void;
}

/** Makes a browser without a session. */
export function openTestBrowser(services: Services): TestBrowser {
  const cookies = new Map<string, string>();
  const headers = new Headers({ host: new URL(testOrigin).host, origin: testOrigin });
  const keepCookies = (response: Response) => {
    for (const line of response.headers.getSetCookie()) {
      const [pair = ""] = line.split(";");
      const at = pair.indexOf("=");
      if (/max-age=0/i.test(line)) cookies.delete(pair.slice(0, at));
      else cookies.set(pair.slice(0, at), pair.slice(at + 1));
    }
    const value = [...cookies].map(([name, cookie]) => `${name}=${cookie}`).join("; ");
    if (value) headers.set("cookie", value);
    else headers.delete("cookie");
  };
  return {
    headers,
    keepCookies,
    async auth(path, body = {}, extra = {}) {
      const request = new Request(`${testOrigin}/api/auth${path}`, {
        method: "POST",
        headers: { ...Object.fromEntries(headers), "content-type": "application/json", ...extra },
        body: JSON.stringify(body),
      });
      const response = await authOf(services).handler(request);
      keepCookies(response);
      return response;
    },
  };
}

export const testPassword = "correct horse battery";

/** A browser with a new guest's session. */
export async function openGuest(services: Services): Promise<TestBrowser> {
  const browser = openTestBrowser(services);
  const response = await browser.auth("/sign-in/anonymous");
  if (!response.ok) throw new Error(`guest sign-in answered ${response.status}`);
  return browser;
}

/** A browser with a new account's session. */
export async function openAccount(services: Services, email: string): Promise<TestBrowser> {
  const browser = openTestBrowser(services);
  const response = await browser.auth("/sign-up/email", { email, password: testPassword, name: email });
  if (!response.ok) throw new Error(`sign-up answered ${response.status}: ${await response.text()}`);
  return browser;
}

/** A browser with an admin's session; the admin is made as an operator does it. */
export async function openAdmin(services: Services, email: string): Promise<TestBrowser> {
  await createUser(services, { email, password: testPassword, isAdmin: true });
  const browser = openTestBrowser(services);
  const response = await browser.auth("/sign-in/email", { email, password: testPassword });
  if (!response.ok) throw new Error(`sign-in answered ${response.status}: ${await response.text()}`);
  return browser;
}
