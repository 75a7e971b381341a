import { ensureGuest, forgetSession } from "./guest.ts";

/** `fetch` with a session: signs in as a guest first, and once more when the session turns out to be over. */
export async function sessionFetch(input: RequestInfo | URL | string, init?: RequestInit): Promise<Response> {
  await ensureGuest();
  const response = await fetch(input, init);
  if (response.status !== 401) return response;
  forgetSession();
  await ensureGuest();
  return fetch(input, init);
}
