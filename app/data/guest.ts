import { authClient } from "./auth-client.ts";

let ready: Promise<void> | null = null;

/** Two tabs that open at the same time must not become two guests. */
async function signInUnlessSomebodyIs(): Promise<void> {
  const { data } = await authClient.getSession();
  if (data === null) await authClient.signIn.anonymous();
}

/** Resolves when this browser has a session: its own, or a new guest's. */
export function ensureGuest(): Promise<void> {
  ready ??= navigator.locks
    .request("atelier-guest", signInUnlessSomebodyIs)
    .then(() => undefined)
    .catch((error: unknown) => {
      ready = null;
      throw error;
    });
  return ready;
}

/** The server no longer knows the session: the next call starts anew. */
export function forgetSession(): void {
  ready = null;
}

/** The page came with a session cookie, so nothing needs to be asked before the first call. */
export function trustSession(): void {
  ready ??= Promise.resolve();
}
