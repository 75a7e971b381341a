/** Whether a visitor without an account may use the studio; SIGN_UP is checked when the studio starts. */
export function letsGuestsIn(): boolean {
  // Not by the services: proxy.ts asks before each page, and needs no database for it.
  // oxlint-disable-next-line no-restricted-properties
  return (process.env["SIGN_UP"]?.trim() || "open") === "open";
}

/** The session cookie of better-auth, with or without the prefix of secure cookies. */
export const sessionCookie = /atelier\.session_token$/;
