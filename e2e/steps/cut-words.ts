import type { Page } from "@playwright/test";

/** Words of the page that are cut by the edge of their box; those for screen readers alone have a box of one pixel. */
export function cutWords(page: Page): Promise<string[]> {
  return page.evaluate(() => {
    const isCut = (element: Element) => {
      const { overflowX, overflowY } = getComputedStyle(element);
      return (
        (overflowX !== "visible" && overflowX !== "auto" && element.scrollWidth > element.clientWidth) ||
        (overflowY !== "visible" && overflowY !== "auto" && element.scrollHeight > element.clientHeight + 1)
      );
    };
    const hasWords = ({ childNodes }: Element) =>
      [...childNodes].some(
        ({ nodeType, data }: ChildNode & { data?: string }) => nodeType === Node.TEXT_NODE && data?.trim(),
      );
    return [...document.body.querySelectorAll("*")]
      .filter(
        (element) =>
          hasWords(element) && element.clientWidth > 1 && element.checkVisibility() && isCut(element),
      )
      .map(({ textContent }) => textContent);
  });
}
