import { AxeBuilder } from "@axe-core/playwright";
import type { Page } from "@playwright/test";

const tags = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"];
/** Beyond WCAG, on pages of our own: what people who move by landmarks and tables rely on. */
const ofOwnPages = { "landmark-unique": { enabled: true }, "empty-table-header": { enabled: true } };

/**
 * Colours that are still on their way would be judged as they are at that moment: a change begins with the next frame, and
 * what inherits a colour follows it.
 */
async function settle(page: Page): Promise<void> {
  await page.evaluate(async () => {
    const isEnding = ({ playState, effect }: Animation) =>
      playState === "running" && effect?.getComputedTiming().endTime !== Infinity;
    for (let calmFrames = 0; calmFrames < 2; calmFrames += 1) {
      await new Promise(requestAnimationFrame);
      const ending = document.getAnimations().filter(isEnding);
      if (ending.length > 0) calmFrames = -1;
      await Promise.allSettled(ending.map(({ finished }) => finished));
    }
  });
}

interface Scope {
  /** A page that is not of our own making. */
  readonly isForeign?: boolean;
  /** What a page in its other look can differ in; all else was judged in the first. */
  readonly isOfColours?: boolean;
}

/** Which rules axe applies. */
function chooseRules({ isForeign, isOfColours }: Scope): Parameters<AxeBuilder["options"]>[0] {
  if (isOfColours) return { runOnly: { type: "rule", values: ["color-contrast", "link-in-text-block"] } };
  return { runOnly: { type: "tag", values: tags }, rules: isForeign ? {} : ofOwnPages };
}

/** What axe finds against WCAG 2.2 AA on a page as it stands, each with the elements it is about. */
export async function findBarriers(page: Page, scope: Scope = {}): Promise<string[]> {
  await settle(page);
  // What passes is as good as everything, and describing it takes longer than the checks.
  const axe = new AxeBuilder({ page }).options({ resultTypes: ["violations"], ...chooseRules(scope) });
  // In this page alone: axe's default way, for frames of other origins, opens a second page and loads axe again there.
  if (!scope.isForeign) axe.setLegacyMode();
  const { violations } = await axe.analyze();
  return violations.flatMap(({ id, nodes }) =>
    nodes.map(({ target, failureSummary }) => `${id}: ${target.join(" ")} ${failureSummary ?? ""}`),
  );
}
