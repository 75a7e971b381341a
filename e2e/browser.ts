import { existsSync } from "node:fs";
import type { LaunchOptions } from "@playwright/test";

const args = ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"];

/** The browser of the system if there is one, else the one inside an npm package (Linux only). */
export async function chooseBrowser(): Promise<LaunchOptions> {
  const wanted = process.env.CHROMIUM_PATH;
  const file = wanted ?? ["/usr/bin/chromium", "/usr/bin/google-chrome"].find((name) => existsSync(name));
  if (file) return { executablePath: file, args };
  // Read when the package is loaded: makes it unpack the shared libraries that it brings along.
  process.env.AWS_LAMBDA_JS_RUNTIME ??= "nodejs24.x";
  const { default: chromium } = await import("@sparticuz/chromium");
  // Without the arguments of the package: they turn off web security, and draw with SwiftShader, which stops pages for
  // seconds on two cores.
  return { executablePath: await chromium.executablePath(), args };
}
