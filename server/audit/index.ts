/**
 * The audit log: who did what, to whom, from where, and when.
 *
 * - act: what a person, a key or an operator does that others may have to answer for; work of the studio itself is none,
 *   but for a refusal of the gate, which is recorded for the user whose job it ended.
 * - actor: the user or key that acted, `nobody` before a sign-in has succeeded, `operator` on the command line.
 * - person: the user to whom it was done.
 *
 * A verb records its act in its own transaction (`recordAct(tx, …)`): an act without its entry, or an entry without its act, is a fault.
 * Entries hold ids; names and e-mail addresses are read from the accounts when somebody looks, so the entries of a deleted
 * user name nobody. The table is append-only by triggers of the database; `pruneAudit` alone removes, what is too old.
 */
export { type AuditGroup, type AuditKind } from "./kinds.ts";
export { entryOf, pruneAudit, recordAct } from "./record.ts";
export {
  type AuditEntry,
  auditFilterSchema,
  auditFormats,
  exportAudit,
  searchAudit,
  searchAuditSchema,
} from "./search.ts";
