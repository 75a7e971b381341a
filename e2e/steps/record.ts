import type { Locator } from "@playwright/test";

interface Sight {
  readonly selector: string;
  /** The attribute to note; without it the text. */
  readonly attribute?: string;
}

/** Notes every different value that is shown within an element from now on; returns how to read the notes. */
export async function record(within: Locator, sight: Sight): Promise<() => Promise<string[]>> {
  const handle = await within.evaluateHandle((root, { selector, attribute }) => {
    const seen: string[] = [];
    const look = () => {
      for (const element of root.querySelectorAll(selector)) {
        const value = attribute === undefined ? element.textContent : element.getAttribute(attribute);
        if (value !== null && value !== "" && seen.at(-1) !== value) seen.push(value);
      }
    };
    look();
    new MutationObserver(look).observe(root, {
      subtree: true,
      childList: true,
      characterData: true,
      attributes: true,
    });
    return seen;
  }, sight);
  return () => handle.jsonValue();
}
