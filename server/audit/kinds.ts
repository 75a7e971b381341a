/** What is done, by what it is done to: the part before the dot is the group that a search chooses by. */
const auditKinds = [
  "sign_in.done",
  "sign_in.failed",
  "account.made",
  "account.password_changed",
  "account.session_ended",
  "account.sessions_ended",
  "account.exported",
  "account.deleted",
  "user.suspended",
  "user.unsuspended",
  "user.quota_set",
  "user.role_set",
  "user.spending_set",
  "user.password_link_made",
  "user.password_link_used",
  "user.deleted",
  "invitation.made",
  "invitation.revoked",
  "key.made",
  "key.revoked",
  "link.made",
  "link.changed",
  "link.revoked",
  "link.restored",
  "board.shared",
  "board.unshared",
  "pictures.deleted",
  "assistant.approved",
  "assistant.declined",
  "assistant.conversation_deleted",
  "assistant.memory_deleted",
  "consent.stated",
  "consent.withdrawn",
] as const;

/** An act of an admin that no verb records itself has the name of its procedure: `admin.nodes.drain`. */
export type AuditKind = (typeof auditKinds)[number] | `admin.${string}`;

export const auditGroups = [
  "sign_in",
  "account",
  "user",
  "invitation",
  "key",
  "link",
  "board",
  "pictures",
  "assistant",
  "consent",
  "admin",
] as const;
export type AuditGroup = (typeof auditGroups)[number];
