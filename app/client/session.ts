import { announceSignOut } from "../live/account-change.ts";
import { authClient } from "../data/auth-client.ts";
import { settleSession } from "../data/settle-session.ts";

let ready: Promise<void> | null = null;
let hadAccount = false;

function settle(): Promise<void> {
  return settleSession(hadAccount, {
    getSession: () => authClient.getSession(),
    enterAsGuest: () => authClient.signIn.anonymous(),
    goToSignIn: announceSignOut,
  });
}

/** Two tabs that open at the same time must not become two guests; without locks, outside secure contexts, they may. */
async function settleInTurn(): Promise<void> {
  const locks: LockManager | undefined = navigator.locks;
  if (locks === undefined) return settle();
  await locks.request("atelier-guest", settle);
}

/** Resolves when this browser has a session: its own, or a new guest's. */
export function ensureGuest(): Promise<void> {
  ready ??= settleInTurn().catch((error: unknown) => {
    ready = null;
    throw error;
  });
  return ready;
}

/** Who this page is for: a person with an account must sign in again once the session is over. */
export function noteAccount(hasAccount: boolean): void {
  hadAccount = hasAccount;
}

/** The server no longer knows the session: the next call starts anew. */
export function forgetSession(): void {
  ready = null;
}

/** The page came with a session cookie, so nothing needs to be asked before the first call. */
export function trustSession(): void {
  ready ??= Promise.resolve();
}
