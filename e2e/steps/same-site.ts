import { test } from "../test.ts";

/** Headers of a request that a page of the studio itself would send. */
export function sameSite(): { headers: Record<string, string> } {
  return { headers: { origin: test.info().project.use.baseURL ?? "" } };
}
