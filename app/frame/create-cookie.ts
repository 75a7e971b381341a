/** Remembers that pictures can be made from words, so that the server draws the way there from the first byte. */
export const createCookie = "atelier-create";

export function rememberCreate(isThere: boolean): void {
  // oxlint-disable-next-line unicorn/no-document-cookie -- the Cookie Store API is missing in Firefox
  document.cookie = `${createCookie}=1; path=/; max-age=${isThere ? 31_536_000 : 0}; samesite=lax`;
}
