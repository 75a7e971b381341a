/** Whether a visitor without an account may use the studio; SIGN_UP is checked when the studio starts. */
export function letsGuestsIn(): boolean {
  // Read without the services: proxy.ts calls this before each page, and must not need a database.
  // oxlint-disable-next-line no-restricted-properties
  return (process.env["SIGN_UP"]?.trim() || "open") === "open";
}

/** The session cookie of better-auth, with or without the prefix of secure cookies. */
export const sessionCookie = /atelier\.session_token$/;
