import type { Page } from "@playwright/test";
import { expect } from "../test.ts";
import { sameSite } from "./same-site.ts";

interface JobRequest {
  readonly kind: "outfit_change" | "upscale" | "inpaint" | "remove_background" | "text_to_image";
  readonly inputs: Readonly<Record<string, string>>;
  readonly params?: Readonly<Record<string, unknown>>;
}

/** Starts a job without the screen; returns its id. */
export async function submitJob(page: Page, request: JobRequest): Promise<string> {
  const answer = await page.request.post("/api/v1/jobs", { data: { params: {}, ...request }, ...sameSite() });
  expect(answer.status(), await answer.text()).toBe(202);
  const { id }: { id: string } = await answer.json();
  return id;
}
