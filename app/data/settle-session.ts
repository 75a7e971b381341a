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

/** Makes sure that there is a session. Only somebody without an account becomes a guest; throws when it cannot be known. */
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
