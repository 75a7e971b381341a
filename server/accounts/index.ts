export type { Caller } from "./caller.ts";
export {
  authOf,
  createAuth,
  maxKeyNameLength,
  minPasswordLength,
  type Auth,
  trustedOrigins,
} from "./auth.ts";
export {
  createApiKey,
  type CreateApiKeyInput,
  listApiKeys,
  type ApiKeyView,
  revokeApiKey,
  type RevokeApiKeyInput,
} from "./api-keys.ts";
export {
  createUser,
  type CreateUserInput,
  findAccount,
  getAccount,
  type AccountView,
  resetPassword,
  type ResetPasswordInput,
  workerAccount,
} from "./accounts.ts";
export {
  entryTokenHeader,
  readEntry,
  type Entry,
  createInvitation,
  invitationDays,
  listInvitations,
  revokeInvitation,
  type InvitationView,
  type NewInvitation,
} from "./entry.ts";
export { mergeGuest, type MergeGuestInput } from "./merge-guest.ts";
export { resolveCaller, takeWritePermit } from "./resolve-caller.ts";
