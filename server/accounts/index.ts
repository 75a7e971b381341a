/**
 * Accounts: who a caller is and how an account begins.
 *
 * - caller: the user or guest behind a request, resolved from a session cookie or an API key.
 * - guest: an anonymous account; `mergeGuest` moves its jobs and images to the account that the guest signs in with.
 * - right: what an API key may do; a key without a list of them may what its owner may.
 * - factor: what a sign-in needs besides the password: a code of an app, or a recovery code; a passkey stands for both.
 * - entry: the sign-up mode, and the token of an invitation or of the first admin that lets a new account in.
 *
 * Two doors: rooms that a worker loads import plain.ts, which brings no library of sign-ins; all others this one.
 *
 * Secrets are stored as hashes and never logged. Access to a job or an image is decided where the row is read, not here.
 */
export { accountOf, type Caller, deadKey, findEnded, refuseGuest } from "./caller.ts";
export { notAdmin, readAdminFactor, refuseLack, setAdminFactor } from "./admin-factor.ts";
export { authOf, maxKeyNameLength, servedAuthPaths, trustedOrigins } from "./auth.ts";
export { actAs, findClient } from "./client-users.ts";
export {
  type ApiKeyView,
  createApiKey,
  listApiKeys,
  maxKeyCapUsd,
  maxKeyDays,
  maxKeyPerMinute,
  readApiKey,
  revokeApiKey,
  setKeyCap,
} from "./api-keys.ts";
export { hasRight, type KeyRight, keyRights, requireRight, rightFor } from "./key-rights.ts";
export { findAccount, getAccount, mailAddress, workerAccount } from "./accounts.ts";
export { countUnreadableFactors } from "./factor-secrets.ts";
export { setLocale, wordsFor } from "./language.ts";
export {
  createResetLink,
  createUser,
  resetLinkHours,
  resetPassword,
  spendResetLink,
} from "./password-reset.ts";
export { endOtherSessions, endSession, listSessions } from "./sessions.ts";
export { passkeyName } from "./passkey-guard.ts";
export {
  addPassword,
  confirmPassword,
  readSecurity,
  removePasskey,
  removePassword,
  removeProvider,
  renamePasskey,
} from "./passkeys.ts";
export { userTables } from "./user-tables.ts";
export {
  entryTokenHeader,
  readEntry,
  type Entry,
  createInvitation,
  invitationDays,
  listInvitations,
  revokeInvitation,
  type InvitationView,
} from "./entry.ts";
export { mergeGuest } from "./merge-guest.ts";
export { readSocketCaller, type SocketReader, type SocketRequest } from "./socket-reader.ts";
export { takePermitOf } from "./permits.ts";
export { resolveCaller } from "./resolve-caller.ts";
