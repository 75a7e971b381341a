/**
 * Users as a whole: what an admin may do to one, the deletion of a user with everything, the export of a user's data.
 *
 *     active ──suspend──▶ suspended ──┐
 *       │  ◀──unsuspend──             │ deleteUser, deleteOwnAccount
 *       └─────────────────────────────┴──▶ deleted ──purge──▶ gone
 *
 * - suspended: sessions end, keys are refused, open jobs are cancelled; `suspendedUsers` of accounts finds what came in since.
 * - deleted: the account is without name, address and credentials from that moment; `purgeDeleted` removes the rest, and a
 *   worker repeats it until nothing is left.
 *
 * All acts on admins take one lock, so that one admin always stays. What belongs to a user stands in `userTables` of
 * accounts. This room knows accounts, images and jobs; none of them knows it.
 */
export { maxQuotaBytes, resetFactors, setQuota, setRole, suspend, unsuspend } from "./acts.ts";
export { deleteOwnAccount, deleteUser, deletionWord } from "./delete.ts";
export { purgeDeleted } from "./purge.ts";
export { openExport } from "./export.ts";
