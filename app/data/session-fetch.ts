import { ensureGuest, forgetSession } from "../client/session.ts";

/** `fetch` with a session: whoever has none becomes a guest first, and a session that is over is settled once more. */
export async function sessionFetch(input: RequestInfo | URL | string, init?: RequestInit): Promise<Response> {
  await ensureGuest();
  const response = await fetch(input, init);
  if (response.status !== 401) return response;
  forgetSession();
  await ensureGuest();
  return fetch(input, init);
}
