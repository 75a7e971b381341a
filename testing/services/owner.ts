import { readFile } from "node:fs/promises";
import path from "node:path";
import { createApiKey, resolveCaller, type Caller } from "@atelier/server/accounts";
import { ingest } from "@atelier/server/images";
import { submit } from "@atelier/server/jobs";
import type { Services } from "@atelier/server/services";
import { openAccount, type TestBrowser } from "./services.ts";

const sample = path.join(import.meta.dirname, "../../public/samples/coffee.png");

/** An account with one of everything that can belong to it. */
export interface TestOwner {
  readonly browser: TestBrowser;
  readonly caller: Caller;
  readonly imageId: string;
  /** Pending, since no worker runs. */
  readonly jobId: string;
  readonly apiKeyId: string;
  readonly apiKey: string;
}

export async function openOwner(
  services: Services,
  email: string,
  open: typeof openAccount = openAccount,
): Promise<TestOwner> {
  const browser = await open(services, email);
  const caller = await resolveCaller(services, browser.headers);
  if (!caller) throw new Error("the new account has no session");
  const { signal } = new AbortController();
  const image = await ingest(services, {
    ownerId: caller.userId,
    role: "upload",
    bytes: await readFile(sample),
    name: "coffee.png",
    signal,
  });
  const request = { kind: "upscale", params: {}, inputs: { image: image.id } };
  const job = await submit(services, request, { submitter: caller });
  const key = await createApiKey(services, { userId: caller.userId, name: "test" });
  return { browser, caller, imageId: image.id, jobId: job.id, apiKeyId: key.id, apiKey: key.key };
}
