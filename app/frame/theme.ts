export const themeCookie = "atelier-theme";
export const themes = ["system", "light", "dark"] as const;
export type Theme = (typeof themes)[number];

export function readTheme(value: string | undefined): Theme {
  return themes.find((theme) => theme === value) ?? "system";
}

/** Applies a theme at once; the cookie lets the server draw the next page in it from its first byte. */
export function applyTheme(theme: Theme): void {
  document.documentElement.dataset.theme = theme;
  // oxlint-disable-next-line unicorn/no-document-cookie -- the Cookie Store API is missing in Firefox
  document.cookie = `${themeCookie}=${theme}; path=/; max-age=31536000; samesite=lax`;
}
