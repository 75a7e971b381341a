/** As many pictures as fit beside one another. */
export const mostCompared = 4;

const isId = (text: string) => /^[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}$/i.test(text);

/** The pictures that an address of the page names, each once; what is no id is left out. */
export function readIds(text: string | null): readonly string[] {
  const named = (text ?? "").split(",").map((id) => id.trim().toLowerCase());
  return [...new Set(named)].filter(isId);
}

export const comparePath = "/compare";

/** The page that compares these pictures. */
export function compareHref(ids: readonly string[]): string {
  return `${comparePath}?ids=${ids.join(",")}`;
}

/** The place with the one before it, or of the first one with the next. */
export function swapped<Item>(items: readonly Item[], at: number): readonly Item[] {
  const left = at === 0 ? 0 : at - 1;
  const [one, other] = [items[left], items[left + 1]];
  return one === undefined || other === undefined
    ? items
    : [...items.slice(0, left), other, one, ...items.slice(left + 2)];
}
