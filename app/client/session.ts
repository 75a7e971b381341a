import { anonymousClient } from "better-auth/client/plugins";
import { createAuthClient } from "better-auth/react";
import { announceSignOut } from "../live/channel.ts";

export const authClient = createAuthClient({ plugins: [anonymousClient()] });

/** The person of this page was signed out elsewhere. */
export class SignedOut extends Error {
  readonly code = "unauthorized";

  constructor() {
    super("You are signed out.");
    this.name = "SignedOut";
  }
}

interface Answer {
  readonly data: unknown;
  readonly error: unknown;
}

interface Ways {
  readonly getSession: () => Promise<Answer>;
  readonly enterAsGuest: () => Promise<Answer>;
  readonly goToSignIn: () => void;
}

/** Whether the studio is for accounts alone. */
function isClosedToGuests(error: unknown): boolean {
  return typeof error === "object" && error !== null && Reflect.get(error, "code") === "GUESTS_CLOSED";
}

/** Ensures a session. Only a visitor without one becomes a guest; throws when the server does not answer. */
export async function settleSession(hadAccount: boolean, ways: Ways): Promise<void> {
  const session = await ways.getSession();
  if (session.error !== null) throw session.error;
  if (session.data !== null) return;
  if (hadAccount) {
    ways.goToSignIn();
    throw new SignedOut();
  }
  const entered = await ways.enterAsGuest();
  if (isClosedToGuests(entered.error)) {
    ways.goToSignIn();
    throw new SignedOut();
  }
  if (entered.error !== null) throw entered.error;
}

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

/** The server no longer knows the session: the next call ensures a new one. */
export function forgetSession(): void {
  ready = null;
}

/** The page came with a session cookie, so nothing needs to be asked before the first call. */
export function trustSession(): void {
  ready ??= Promise.resolve();
}

/** `fetch` with a session: a visitor becomes a guest first; after the session has ended the request runs once more. */
export async function sessionFetch(input: RequestInfo | URL | string, init?: RequestInit): Promise<Response> {
  await ensureGuest();
  const response = await fetch(input, init);
  if (response.status !== 401) return response;
  forgetSession();
  await ensureGuest();
  return fetch(input, init);
}
