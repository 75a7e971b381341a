export type { Caller } from "./caller.ts";
export { authOf, createAuth, maxKeyNameLength, minPasswordLength, type Auth } from "./auth.ts";
export { createApiKey, type CreateApiKeyInput } from "./create-api-key.ts";
export { createUser, type CreateUserInput } from "./accounts.ts";
export { entryTokenHeader, readEntry, type Entry } from "./entry.ts";
export { findAccount } from "./find-account.ts";
export { getAccount, type AccountView } from "./get-account.ts";
export {
  createInvitation,
  invitationDays,
  listInvitations,
  revokeInvitation,
  type InvitationView,
  type NewInvitation,
} from "./invitations.ts";
export { listApiKeys, type ApiKeyView } from "./api-keys.ts";
export { mergeGuest, type MergeGuestInput } from "./merge-guest.ts";
export { resetPassword, type ResetPasswordInput } from "./reset-password.ts";
export { resolveCaller } from "./resolve-caller.ts";
export { revokeApiKey, type RevokeApiKeyInput } from "./revoke-api-key.ts";
export { takeWritePermit } from "./take-permit.ts";
export { trustedOrigins } from "./trusted-origins.ts";
export { workerAccount } from "./worker-account.ts";
