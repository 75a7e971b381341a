import { loadCode } from "../ui/code.ts";
import { fetchNow } from "./clock.ts";
import {
  announceSignOut,
  draftKeys,
  forgetShared,
  leaveSignedOut,
  readDraft,
  writeDraft,
} from "./leaving.ts";

/** A limit of the server, which forms show before they are sent. */
export const minPasswordLength = 10;

/** What signs in and out; few pages need it at once. */
export const authClient = async () => (await loadCode(() => import("./auth-client.ts"))).authClient;

/** The session of this page ended, for instance by a sign-out in another browser. */
export class SignedOut extends Error {
  readonly code = "unauthorized";

  constructor() {
    super("You are signed out.");
    this.name = "SignedOut";
  }
}

/** The browser keeps no cookie of this page: each call would be that of a new guest, and no sign-in would last. */
class CookiesBlocked extends Error {
  readonly code = "cookies_blocked";

  constructor() {
    super("The browser keeps no cookies.");
    this.name = "CookiesBlocked";
  }
}

const keepsCookies = () => navigator.cookieEnabled !== false;

interface Answer {
  readonly data: unknown;
  readonly error: unknown;
}

/** What `settleSession` calls; tests pass stand-ins. */
interface SessionCalls {
  readonly getSession: () => Promise<Answer>;
  readonly enterAsGuest: () => Promise<Answer>;
  readonly goToSignIn: () => void;
  readonly keepsCookies: () => boolean;
}

/** Whether the studio refuses guests. */
function isClosedToGuests(error: unknown): boolean {
  return typeof error === "object" && error !== null && Reflect.get(error, "code") === "GUESTS_CLOSED";
}

/**
 * Ensures a session: a visitor without one becomes a guest. Throws `SignedOut` and goes to the sign-in page when the user had
 * an account or guests are refused; `CookiesBlocked` where no session would last; the error of the call when the server does not answer.
 */
export async function settleSession(hadAccount: boolean, calls: SessionCalls): Promise<void> {
  const session = await calls.getSession();
  if (session.error !== null) throw session.error;
  if (session.data !== null) return;
  if (!calls.keepsCookies()) throw new CookiesBlocked();
  if (hadAccount) {
    calls.goToSignIn();
    throw new SignedOut();
  }
  const entered = await calls.enterAsGuest();
  if (isClosedToGuests(entered.error)) {
    calls.goToSignIn();
    throw new SignedOut();
  }
  if (entered.error !== null) throw entered.error;
}

let ready: Promise<void> | null = null;
/** For browsers that block their storage. */
let hadAccount = false;

function settle(): Promise<void> {
  return settleSession(hadAccount || readDraft(draftKeys.account) === "true", {
    getSession: async () => (await authClient()).getSession(),
    enterAsGuest: async () => (await authClient()).signIn.anonymous(),
    goToSignIn: announceSignOut,
    keepsCookies,
  });
}

/** Under a lock, so that two new tabs do not create two guests. Over plain http there are no locks, and they may. */
async function asOnlyTab<T>(enter: () => Promise<T>): Promise<T> {
  const locks: LockManager | undefined = navigator.locks;
  return locks === undefined ? enter() : await locks.request("atelier-guest", enter);
}

/** Resolves when this browser has a session: an existing one, or that of a new guest. */
export function ensureGuest(): Promise<void> {
  ready ??= asOnlyTab(settle).catch((error: unknown) => {
    ready = null;
    throw error;
  });
  return ready;
}

/**
 * Signs in or up. A guest that this browser is becoming at the moment comes first: the late answer would replace the
 * session of the account.
 */
export async function enterAccount<T>(
  enter: (client: Awaited<ReturnType<typeof authClient>>) => Promise<T>,
): Promise<T> {
  await ready?.catch(() => undefined);
  if (!keepsCookies()) throw new CookiesBlocked();
  return asOnlyTab(async () => enter(await authClient()));
}

/**
 * Notes whether the user has an account: after the end of the session such a user must sign in, and becomes no guest. Kept
 * over pages, since a session may end before a page has asked who uses it.
 */
export function noteAccount(hasAccount: boolean): void {
  hadAccount = hasAccount;
  writeDraft(draftKeys.account, String(hasAccount));
}

/** The server no longer knows the session: the next call ensures a new one. */
export function forgetSession(): void {
  ready = null;
}

/** Call when the page was requested with a session cookie: the first call then needs no check of the session. */
export function trustSession(): void {
  ready ??= Promise.resolve();
}

/** Signs this browser out and leads every tab to the page to sign in. */
export async function signOut(): Promise<void> {
  const client = await authClient();
  // A provider that wants to end its session, too, has a page for it.
  const answer = await client.signOut({ callbackURL: "/sign-in", disableRedirect: true });
  if (answer.error !== null) throw answer.error;
  await forgetShared();
  leaveSignedOut(answer.data.url ?? "/sign-in");
}

/** `fetch` with a session: a visitor becomes a guest first; after the session has ended the request runs once more. */
export async function sessionFetch(input: RequestInfo | URL | string, init?: RequestInit): Promise<Response> {
  await ensureGuest();
  const response = await fetchNow(input, init);
  if (response.status !== 401) return response;
  forgetSession();
  await ensureGuest();
  return fetchNow(input, init);
}
