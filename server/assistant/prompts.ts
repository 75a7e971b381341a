import { and, desc, eq, sql } from "drizzle-orm";
import { type PromptRole, promptRoles, schema } from "../db/index.ts";
import { AppError } from "../platform/index.ts";
import type { Services } from "../services.ts";
import { builtInPrompts } from "./built-in-prompts.ts";

const { prompts } = schema;

export interface Prompt {
  readonly role: PromptRole;
  readonly version: number;
  readonly text: string;
}

export interface PromptVersion extends Prompt {
  readonly note: string;
  readonly isActive: boolean;
  /** Null for the text that came with the product. */
  readonly authorId: string | null;
  readonly createdAt: Date;
}

/** Characters of a prompt. */
export const maxPromptLength = 20_000;

/** The active version of a prompt. In a new database the texts of the product become the first versions. */
export async function readPrompt({ db }: Pick<Services, "db">, role: PromptRole): Promise<Prompt> {
  const where = and(eq(prompts.role, role), prompts.isActive);
  const [known] = await db.select().from(prompts).where(where);
  if (known) return known;
  await storeBuiltIn(db);
  const [stored] = await db.select().from(prompts).where(where);
  if (!stored) throw new AppError("internal", `There is no prompt "${role}".`);
  return stored;
}

async function storeBuiltIn(db: Services["db"]): Promise<void> {
  const rows = promptRoles.map((role) => ({ role, version: 1, text: builtInPrompts[role], isActive: true }));
  await db.insert(prompts).values(rows).onConflictDoNothing();
}

/** All versions, newest first within each role. */
export async function listPrompts({ db }: Pick<Services, "db">): Promise<PromptVersion[]> {
  const read = () => db.select().from(prompts).orderBy(prompts.role, desc(prompts.version));
  const known = await read();
  if (known.length > 0) return known;
  await storeBuiltIn(db);
  return read();
}

export interface NewPrompt {
  readonly role: PromptRole;
  readonly text: string;
  readonly note: string;
  readonly authorId: string;
}

/** Stores a new version, which becomes active only by `activatePrompt`. Returns its number. */
export async function addPrompt({ db }: Services, prompt: NewPrompt): Promise<number> {
  const { role, text, note, authorId } = prompt;
  return db.transaction(async (tx) => {
    await tx.execute(sql`select pg_advisory_xact_lock(hashtext('prompts'), hashtext(${role}))`);
    const [newest] = await tx
      .select({ version: prompts.version })
      .from(prompts)
      .where(eq(prompts.role, role))
      .orderBy(desc(prompts.version))
      .limit(1);
    const version = (newest?.version ?? 0) + 1;
    await tx.insert(prompts).values({ role, version, text, note, authorId });
    return version;
  });
}

/** Makes a version the one that stages use from now on, an earlier one too. Throws `not_found`. */
export async function activatePrompt(
  { db }: Services,
  { role, version }: { readonly role: PromptRole; readonly version: number },
): Promise<void> {
  await db.transaction(async (tx) => {
    await tx.execute(sql`select pg_advisory_xact_lock(hashtext('prompts'), hashtext(${role}))`);
    await tx
      .update(prompts)
      .set({ isActive: false })
      .where(and(eq(prompts.role, role), prompts.isActive));
    const activated = await tx
      .update(prompts)
      .set({ isActive: true })
      .where(and(eq(prompts.role, role), eq(prompts.version, version)))
      .returning({ version: prompts.version });
    if (activated.length === 0) throw new AppError("not_found");
  });
}
