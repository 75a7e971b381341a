import { sql } from "drizzle-orm";
import { suspendedUsers } from "../accounts/plain.ts";
import { schema } from "../db/index.ts";
import { safeFetch, hostEntryOf, offersEmail } from "../platform/index.ts";
import { asLocale, type Locale, sourceLocale } from "../locales.ts";
import type { Services } from "../services.ts";
import { retell, wordsIn } from "../words.ts";
import { sendMail } from "./email.ts";

const { studio, users } = schema;

/** A fault of the studio itself. No words of users, and no stack: the log has it all. */
export interface Fault {
  /** Of the same code one alert is sent in an hour. */
  readonly code: string;
  readonly text: string;
}

const everyHours = 1;
const sendMs = 30_000;
const maxAnswerBytes = 64 * 1024;

/**
 * Tells admins of a fault: by e-mail where the studio sends any, and at `ALERT_WEBHOOK_URL`. Of all processes that see it
 * the first tells, and then none for an hour. Never rejects: what could not be sent stands in the log.
 */
export async function alertAdmins(services: Services, fault: Fault): Promise<void> {
  const { env, log } = services;
  const isByMail = offersEmail(env);
  if (!isByMail && env.ALERT_WEBHOOK_URL === undefined) return;
  try {
    if (!(await isFirst(services, fault))) return;
    const sends = [...(isByMail ? [mailAdmins(services, fault)] : []), postFault(services, fault)];
    for (const sent of await Promise.allSettled(sends))
      if (sent.status === "rejected")
        log.error({ err: sent.reason, code: fault.code }, "an alert was not sent");
  } catch (error) {
    log.error({ err: error, code: fault.code }, "an alert was not sent");
  }
}

async function isFirst({ db }: Services, { code }: Fault): Promise<boolean> {
  const rows = await db.execute(sql`
    insert into ${studio} (id, alerts) values (1, jsonb_build_object(${code}::text, clock_timestamp()))
    on conflict (id) do update set alerts = ${studio}.alerts || excluded.alerts
      where coalesce((${studio}.alerts ->> ${code}::text)::timestamptz < clock_timestamp() - ${everyHours} * interval '1 hour', true)
    returning id`);
  return rows.length > 0;
}

async function mailAdmins({ db, env }: Services, { code, text }: Fault): Promise<void> {
  const admins = await db
    .select({
      email: users.email,
      locale: sql<string | null>`coalesce(${users.locale}, ${users.browserLocale})`,
    })
    .from(users)
    .where(
      sql`'admin' = any (string_to_array(${users.role}, ',')) and ${users.id} not in (${suspendedUsers})`,
    );
  const groups = Map.groupBy(admins, (admin) => asLocale(admin.locale) ?? sourceLocale);
  const tell = async ([locale, readers]: readonly [Locale, typeof admins]) => {
    const words = await wordsIn(locale);
    const mail = {
      bcc: readers.map(({ email }) => email),
      subject: words.t("mails.fault.subject", { code }),
      text: `${words.t("mails.fault.text", { code, text: retell(text, words) ?? text })}\n`,
    };
    await sendMail(env, mail, AbortSignal.timeout(sendMs));
  };
  // A refusal for one language keeps nothing from the others.
  const sent = await Promise.allSettled([...groups].map(tell));
  for (const one of sent) if (one.status === "rejected") throw one.reason;
}

async function postFault({ env }: Services, { code, text }: Fault): Promise<void> {
  if (env.ALERT_WEBHOOK_URL === undefined) return;
  const { status } = await safeFetch(env.ALERT_WEBHOOK_URL, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ type: "studio.fault", code, text: `Atelier, ${code}: ${text}` }),
    signal: AbortSignal.timeout(sendMs),
    timeoutMs: sendMs,
    maxBytes: maxAnswerBytes,
    maxRedirects: 0,
    isStatusEnough: true,
    // The operator's own address, unlike those of users.
    isNameTold: true,
    allowPrivate: [hostEntryOf(new URL(env.ALERT_WEBHOOK_URL)), ...env.ALLOWED_PRIVATE_HOSTS],
  });
  if (status < 200 || status > 299) throw new Error(`The address for alerts answered HTTP ${status}.`);
}
