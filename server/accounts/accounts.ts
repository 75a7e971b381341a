import { domainToASCII } from "node:url";
import { and, eq, sql } from "drizzle-orm";
import { schema } from "../db/index.ts";
import { AppError, newId } from "../platform/index.ts";
import { asLocale, type Locale } from "../locales.ts";
import type { Services } from "../services.ts";
import type { AdminLack } from "./admin-factor.ts";
import type { Caller } from "./caller.ts";
import { passwordWay } from "./credentials.ts";
import { serviceRole } from "./first-admin.ts";

export const maxUserNameLength = 100;
export const maxEmailLength = 254;

/**
 * An address as it is stored: a domain in other letters becomes the ASCII form that mail servers and the fields of
 * browsers use.
 */
export function mailAddress(written: string): string {
  const [, name = "", domain = ""] = /^(.*)@([^@]*)$/s.exec(written.trim()) ?? [];
  const host = domainToASCII(domain);
  const address = host === "" ? written.trim() : `${name}@${host}`;
  // Of ASCII alone: the Kelvin sign would become the k of somebody else's address.
  return address.replaceAll(/[A-Z]+/g, (letters) => letters.toLowerCase());
}

/** Guests and the workers' account have addresses below `.invalid`, which RFC 6761 reserves: no mail reaches them. */
export function isReservedEmail(email: string): boolean {
  return /[@.]invalid\.?$/i.test(email.trim());
}

/** The account with an e-mail address, never a guest. Throws `not_found`. */
export async function findAccount({ db }: Services, input: { email: string }): Promise<{ id: string }> {
  const { users } = schema;
  const [user] = await db
    .select({ id: users.id })
    .from(users)
    .where(and(eq(users.email, mailAddress(input.email)), sql`${users.isAnonymous} is not true`));
  if (!user) throw new AppError("not_found", `There is no account with the address ${input.email}.`);
  return user;
}

export interface AccountView {
  readonly id: string;
  readonly name: string;
  /** Null for a guest. */
  readonly email: string | null;
  readonly isGuest: boolean;
  readonly isAdmin: boolean;
  /** What an admin has to do first, where the studio asks its admins for a second factor. */
  readonly adminLack: AdminLack | null;
  /** The language that the user chose; null for that of the browser. */
  readonly locale: Locale | null;
  /** Whether there is a password that signs in. */
  readonly hasPassword: boolean;
  /** Names of the providers through which the user signs in. */
  readonly providers: readonly string[];
  /** Those of them that ask for a second factor themselves. */
  readonly factorProviders: readonly string[];
}

/** The caller's own account; null when it was removed in the meantime. */
export async function getAccount({ db, config }: Services, caller: Caller): Promise<AccountView | null> {
  const { users } = schema;
  // Plain names: the builder would leave the tables out, and each column would be that of the inner one.
  const ways = sql<string[]>`array(select c.provider_id from credentials c
    where c.user_id = users.id order by c.created_at, c.id)`;
  const [user] = await db
    .select({ name: users.name, email: users.email, locale: users.locale, ways })
    .from(users)
    .where(eq(users.id, caller.userId));
  if (!user) return null;
  const { passwords, providers } = config.signIn;
  const own = user.ways.flatMap((id) => providers[id] ?? []);
  return {
    id: caller.userId,
    name: user.name,
    email: caller.isGuest ? null : user.email,
    isGuest: caller.isGuest,
    isAdmin: caller.isAdmin,
    adminLack: caller.adminLack ?? null,
    locale: asLocale(user.locale),
    hasPassword: passwords && user.ways.includes(passwordWay),
    providers: own.map(({ name }) => name),
    factorProviders: own.flatMap(({ name, asksSecondFactor }) => (asksSecondFactor ? [name] : [])),
  };
}

/** The address receives no mail and the account has no password, so a sign-in is impossible. */
const serviceEmail = "workers@atelier.invalid";

/**
 * The account that owns jobs from workers' own endpoints; created on first use. One for all workers: the job
 * can be read at each of them, and direct clients together have one share of the line and one limit of open jobs.
 * Found by its role, which no person can have; an account of a person may hold its address.
 */
export async function workerAccount({ db }: Pick<Services, "db">): Promise<{ id: string }> {
  const { users } = schema;
  const find = () => db.select({ id: users.id }).from(users).where(eq(users.role, serviceRole));
  for (const email of [serviceEmail, `workers-${newId()}@atelier.invalid`]) {
    const [known] = await find();
    if (known) return known;
    // The unique index on the role decides between two workers that create the account at once.
    await db
      .insert(users)
      .values({ id: newId(), name: "Workers", email, emailVerified: true, role: serviceRole })
      .onConflictDoNothing();
  }
  const [made] = await find();
  if (!made) throw new Error("the account of the workers was not stored");
  return made;
}
