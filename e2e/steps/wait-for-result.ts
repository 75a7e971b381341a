import type { Page } from "@playwright/test";
import { expect } from "../test.ts";

interface Job {
  readonly status: string;
  readonly outputs: readonly { readonly imageId: string }[];
}

async function readJob(page: Page, id: string): Promise<Job> {
  const answer = await page.request.get(`/api/v1/jobs/${id}`);
  return answer.json();
}

/** Resolves with the picture that a job made. */
export async function waitForResult(page: Page, jobId: string): Promise<string> {
  await expect.poll(async () => (await readJob(page, jobId)).status, { timeout: 120_000 }).toBe("completed");
  const { outputs } = await readJob(page, jobId);
  return outputs[0]?.imageId ?? "";
}
