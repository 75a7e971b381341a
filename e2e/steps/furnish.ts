import type { Page } from "@playwright/test";
import { beUser } from "./be-user.ts";
import { submitJob } from "./submit-job.ts";
import { uploadSample } from "./upload-sample.ts";
import { waitForResult } from "./wait-for-result.ts";

interface Furnished {
  readonly imageId: string;
  readonly resultId: string;
  readonly jobId: string;
}

/** An account with pictures, a result and a job, so that no page is empty. */
export async function furnish(page: Page): Promise<Furnished> {
  await beUser(page);
  await uploadSample(page, "rocket.jpg");
  const imageId = await uploadSample(page, "astronaut.png");
  const jobId = await submitJob(page, { kind: "remove_background", inputs: { image: imageId } });
  return { imageId, jobId, resultId: await waitForResult(page, jobId) };
}
