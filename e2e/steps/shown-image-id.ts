import type { Locator } from "@playwright/test";

/** Which stored picture an `img` shows. */
export async function shownImageId(picture: Locator): Promise<string> {
  const source = (await picture.getAttribute("src")) ?? "";
  return /images\/([^/]+)\/file/.exec(source)?.[1] ?? "";
}
