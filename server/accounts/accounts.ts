import { z } from "zod";
import { AppError } from "../platform/index.ts";
import type { Services } from "../services/index.ts";
import { authOf, maxPasswordLength, minPasswordLength } from "./auth.ts";
import { isReservedEmail, maxEmailLength, maxUserNameLength } from "./user-data.ts";

const createUserSchema = z.strictObject({
  email: z
    .email("is not an e-mail address")
    .max(maxEmailLength, `must have at most ${maxEmailLength} characters`)
    .toLowerCase()
    .refine((email) => !isReservedEmail(email), "is reserved; take one that does not end in .invalid"),
  password: z
    .string()
    .min(minPasswordLength, `must have at least ${minPasswordLength} characters`)
    .max(maxPasswordLength, `must have at most ${maxPasswordLength} characters`),
  isAdmin: z.boolean().default(false),
});

export type CreateUserInput = z.input<typeof createUserSchema>;

/**
 * Makes an account without a session, whatever SIGN_UP is. Throws `bad_request` for a wrong address or password and
 * `conflict` when the address is taken.
 */
export async function createUser(services: Services, input: CreateUserInput): Promise<{ id: string }> {
  const parsed = createUserSchema.safeParse(input);
  if (!parsed.success) {
    const issue = parsed.error.issues[0];
    throw new AppError("bad_request", `${issue?.path.join(".")} ${issue?.message}`);
  }
  const { email, password, isAdmin } = parsed.data;
  const { internalAdapter, password: passwords } = await authOf(services).$context;
  if (await internalAdapter.findUserByEmail(email))
    throw new AppError("conflict", `There is already an account with the address ${email}.`);
  const name = email.slice(0, Math.min(email.indexOf("@"), maxUserNameLength));
  const user = await internalAdapter.createUser(
    { email, name, emailVerified: false, ...(isAdmin ? { role: "admin" } : {}) },
    { method: "email-password" },
  );
  await internalAdapter.linkAccount({
    userId: user.id,
    providerId: "credential",
    accountId: user.id,
    password: await passwords.hash(password),
  });
  return { id: user.id };
}
