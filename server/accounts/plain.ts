/**
 * The second door of the accounts, for rooms that a worker loads too: nothing here needs the library of sign-ins, with
 * which a worker would be 30 MiB larger and start a fifth later. What needs it stands in index.ts alone.
 */
export { getAccount, workerAccount } from "./accounts.ts";
export { recordChange } from "./account-changes.ts";
export { lackOf, removeAskingLinks } from "./admin-factor.ts";
export {
  type Caller,
  findEnded,
  type Maker,
  refuseGuest,
  requireStanding,
  suspendedUsers,
} from "./caller.ts";
export {
  endOthers,
  forgetTrust,
  hashPassword,
  isPassword,
  isPasswordOf,
  passwordSchema,
  removeFactors,
  signsInByPassword,
} from "./credentials.ts";
export { isAdminNow, lockAdmins, requireOtherAdmin, serviceRole } from "./first-admin.ts";
export { hasRight, keyRights, requireRight } from "./key-rights.ts";
export { wordsFor } from "./language.ts";
export { codeCountOf, countTry, forgetTry, permitKeysOf, takePermitOf } from "./permits.ts";
export { userTables } from "./user-tables.ts";
