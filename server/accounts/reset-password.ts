import { AppError } from "../platform/index.ts";
import type { Services } from "../services/index.ts";
import { authOf, maxPasswordLength, minPasswordLength } from "./auth.ts";
import { findAccount } from "./find-account.ts";

export interface ResetPasswordInput {
  readonly email: string;
  readonly password: string;
}

/** Sets a new password and ends all sessions. Throws `not_found` for an unknown address, `bad_request` when too short or too long. */
export async function resetPassword(
  services: Services,
  { email, password }: ResetPasswordInput,
): Promise<void> {
  if (password.length < minPasswordLength)
    throw new AppError("bad_request", `password must have at least ${minPasswordLength} characters`);
  // Sign-in refuses longer ones.
  if (password.length > maxPasswordLength)
    throw new AppError("bad_request", `password must have at most ${maxPasswordLength} characters`);
  const user = await findAccount(services, { email });
  const { internalAdapter, password: passwords } = await authOf(services).$context;
  await internalAdapter.updatePassword(user.id, await passwords.hash(password));
  await internalAdapter.deleteUserSessions(user.id);
}
