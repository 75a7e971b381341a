import { AxeBuilder } from "@axe-core/playwright";
import type { Page } from "@playwright/test";

const tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"];
/** Beyond WCAG, on pages of our own: what people who move by landmarks and tables rely on. */
const ofOwnPages = { "landmark-unique": { enabled: true }, "empty-table-header": { enabled: true } };

/** Colours that are still on their way would be judged as they are at that moment. */
async function settle(page: Page): Promise<void> {
  await page.evaluate(async () => {
    const ending = document
      .getAnimations()
      .filter((one) => one.effect?.getComputedTiming().endTime !== Infinity);
    await Promise.allSettled(ending.map(({ finished }) => finished));
  });
}

/** What axe finds against WCAG 2.2 AA on a page as it stands, each with the elements it is about. */
export async function findBarriers(page: Page, { isForeign = false } = {}): Promise<string[]> {
  await settle(page);
  // What passes is as good as everything, and describing it takes longer than the checks.
  const axe = new AxeBuilder({ page }).options({
    resultTypes: ["violations"],
    runOnly: { type: "tag", values: tags },
    rules: isForeign ? {} : ofOwnPages,
  });
  const { violations } = await axe.analyze();
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ target, failureSummary }) => `${id}: ${target.join(" ")} ${failureSummary ?? ""}`),
  );
}
