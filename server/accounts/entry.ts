import { APIError } from "better-auth/api";
import type { Services } from "../services/index.ts";
import { hasAdmin, isFirstAdminToken, makeFirstAdmin } from "./first-admin.ts";
import { isOpenInvitation, takeInvitation } from "./invitations.ts";

/** Header of a sign-in or sign-up with the token of the first admin or of an invitation. */
export const entryTokenHeader = "atelier-token";

/** What the sign-in page may offer. */
export interface Entry {
  readonly signUp: "open" | "invite" | "closed";
  /** There is no admin yet: the printed link makes one, whatever `signUp` is. */
  readonly needsAdmin: boolean;
}

/** Who may come in now; without the database, what the configuration says. */
export async function readEntry({ db, env, log }: Services): Promise<Entry> {
  const needsAdmin = await hasAdmin(db).then(
    (found) => !found,
    (err: unknown) => {
      log.warn({ err }, "it cannot be read whether there is an admin");
      return false;
    },
  );
  return { signUp: env.SIGN_UP, needsAdmin };
}

interface Attempt {
  /** Below /api/auth. */
  readonly path: string;
  readonly headers: Headers | undefined;
}

const tokenOf = ({ headers }: Attempt) => headers?.get(entryTokenHeader) ?? "";

const refusals = {
  GUESTS_CLOSED: "This studio has no guests. Sign in.",
  SIGN_UP_CLOSED: "This studio makes no new accounts.",
  INVITATION_INVALID: "A new account needs an invitation that is unused and has not expired.",
} as const;

function refuse(code: keyof typeof refusals): never {
  throw new APIError("FORBIDDEN", { code, message: refusals[code] });
}

/** Refuses guests and new accounts that SIGN_UP does not let in. Throws APIError. */
export async function admitEntry(services: Services, attempt: Attempt): Promise<void> {
  const { SIGN_UP } = services.env;
  if (SIGN_UP === "open") return;
  if (attempt.path === "/sign-in/anonymous") refuse("GUESTS_CLOSED");
  if (attempt.path !== "/sign-up/email") return;
  const token = tokenOf(attempt);
  if (await isFirstAdminToken(services, token)) return;
  if (SIGN_UP === "closed") refuse("SIGN_UP_CLOSED");
  if (!(await isOpenInvitation(services.db, token))) refuse("INVITATION_INVALID");
}

/** Just before the account is stored: uses its invitation up. Throws APIError when another sign-up was first. */
export async function spendInvitation(services: Services, attempt: Attempt): Promise<void> {
  if (services.env.SIGN_UP !== "invite" || attempt.path !== "/sign-up/email") return;
  const token = tokenOf(attempt);
  if (await isFirstAdminToken(services, token)) return;
  if (!(await takeInvitation(services.db, token))) refuse("INVITATION_INVALID");
}

/** After a sign-in or sign-up with the printed token: the account is the first admin. */
export async function claimFirstAdmin(
  services: Services,
  attempt: Attempt & { userId: string },
): Promise<void> {
  const token = tokenOf(attempt);
  if (token === "" || !(await isFirstAdminToken(services, token))) return;
  await makeFirstAdmin(services.db, attempt.userId);
}
