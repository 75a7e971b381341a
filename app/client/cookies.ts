// Read by the root layout on the server too, so this file must not become a client module.

import { type Locale, localeCookie } from "@atelier/server/locales";
import { createListeners } from "../ui/listeners.ts";

/** Cookie that tells the server to render the link to Create: an engine for text to image was available. */
export const createCookie = "atelier-create";

export function rememberCreate(isThere: boolean): void {
  // oxlint-disable-next-line unicorn/no-document-cookie -- the Cookie Store API is missing in Firefox
  document.cookie = `${createCookie}=1; path=/; max-age=${isThere ? 31_536_000 : 0}; samesite=lax`;
}

/** Cookie of a browser that has seen the hints: the server renders them at once, or never, so that nothing moves under a finger. */
export const hintsCookie = "atelier-hints";

export function noteHintsSeen(): void {
  // oxlint-disable-next-line unicorn/no-document-cookie -- the Cookie Store API is missing in Firefox
  document.cookie = `${hintsCookie}=1; path=/; max-age=31536000; samesite=lax`;
}

/** Days that a search names, and times that cameras write, are the viewer's. */
export const viewerTimezone = (): string => Intl.DateTimeFormat().resolvedOptions().timeZone;

/** Cookie with the time zone of the browser, by whose days the server lists pictures. */
export const zoneCookie = "atelier-zone";

export const readZone = (value = ""): string | null => (/^[\w+/-]{1,64}$/.test(value) ? value : null);

export function rememberZone(zone: string): void {
  const cookie = `${zoneCookie}=${zone}`;
  if (document.cookie.split("; ").includes(cookie)) return;
  // oxlint-disable-next-line unicorn/no-document-cookie -- the Cookie Store API is missing in Firefox
  document.cookie = `${cookie}; path=/; max-age=31536000; samesite=lax`;
}

/** Remembers the language of this browser, by which the server renders later pages; null: the one that the browser asks for. */
export function rememberLocale(locale: Locale | null): void {
  // oxlint-disable-next-line unicorn/no-document-cookie -- the Cookie Store API is missing in Firefox
  document.cookie = `${localeCookie}=${locale ?? ""}; path=/; max-age=${locale === null ? 0 : 31_536_000}; samesite=lax`;
}

export const themeCookie = "atelier-theme";
export const themes = ["system", "light", "dark"] as const;
export type Theme = (typeof themes)[number];

export function readTheme(value: string | undefined): Theme {
  return themes.find((theme) => theme === value) ?? "system";
}

const themeListeners = createListeners();

export const watchTheme = themeListeners.watch;

/** The theme of this page. */
export const currentTheme = (): Theme => readTheme(document.documentElement.dataset.theme);

/** Applies a theme at once; with the cookie the server renders later pages in that theme. */
export function applyTheme(theme: Theme): void {
  document.documentElement.dataset.theme = theme;
  // oxlint-disable-next-line unicorn/no-document-cookie -- the Cookie Store API is missing in Firefox
  document.cookie = `${themeCookie}=${theme}; path=/; max-age=31536000; samesite=lax`;
  themeListeners.notify();
}
