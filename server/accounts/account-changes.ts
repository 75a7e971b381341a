import { and, eq, isNull, sql } from "drizzle-orm";
import { recordAct } from "../audit/index.ts";
import { type AccountNotice, noticeKinds, schema, type Tx } from "../db/index.ts";
import { currentSender, newId, offersEmail } from "../platform/index.ts";
import type { Services } from "../services.ts";
import { isReservedEmail } from "./accounts.ts";
import { countTry, mailCountOf } from "./permits.ts";
import { deviceOf } from "./sessions.ts";

const { deliveries, users } = schema;

type Act = Parameters<typeof recordAct>[1];

/** Kinds of acts that are mailed, with the text of the mail. Using a link to a new password is mailed as a changed password. */
const noticeOf: ReadonlyMap<string, AccountNotice["what"]> = new Map([
  ...noticeKinds.map((kind) => [kind, kind] as const),
  ["user.password_link_used", "account.password_changed"],
]);

/**
 * Adds an act to the audit log as `recordAct` does, in its transaction; where it changes how an account is reached and the studio
 * sends e-mail, the user is owed a message about it, ten an hour. Guests, users of clients and deleted users are told nothing: they have no address.
 */
export async function recordChange(
  { env }: Pick<Services, "env">,
  tx: Tx,
  act: Act,
  key?: AccountNotice["key"],
): Promise<void> {
  await recordAct(tx, act);
  const what = noticeOf.get(act.kind);
  const userId = act.to ?? act.by;
  if (what === undefined || userId === null || !offersEmail(env)) return;
  const isPerson = and(eq(users.id, userId), isNull(users.deletedAt), sql`${users.isAnonymous} is not true`);
  // The user's row before the count's, as those who hold it already do.
  const [user] = await tx.select({ email: users.email }).from(users).where(isPerson).for("key share");
  if (!user || isReservedEmail(user.email)) return;
  // Nobody may fill a mailbox by turning a factor on and off; the audit log has them all.
  if (!(await countTry(tx, mailCountOf(userId), { windowMs: hourMs, max: mailsPerHour }))) return;
  await tx.insert(deliveries).values({
    id: newId(),
    ownerId: userId,
    channel: "email",
    target: user.email,
    event: "account.changed",
    notice: { what, at: new Date().toISOString(), ...sentBy(act, userId), ...(key && { key }) },
  });
}

const hourMs = 3_600_000;
/** Messages to one user. */
const mailsPerHour = 10;

/** Who made the change. The browser and the address of an admin are not told. */
function sentBy({ by, kind }: Act, userId: string): Omit<AccountNotice, "what" | "at"> {
  const sender = currentSender();
  const isOther = by === null ? kind !== "user.password_link_used" : by !== userId;
  if (isOther || sender?.isOperator === true)
    return { by: "admin", browser: null, system: null, address: null };
  return { by: "user", ...deviceOf(sender?.agent ?? null), address: sender?.address ?? null };
}
