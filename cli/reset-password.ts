import { resetPassword as resetAccountPassword } from "@atelier/server/accounts";
import { readPassword, refusesPasswordFlag } from "./accounts.ts";
import { withServices } from "./database.ts";
import { parseFlags } from "./parse-flags.ts";

const resetPasswordUsage = "Usage: atelier reset-password --email <address>";

/** `atelier reset-password`: sets the password from standard input and ends all sessions of the account. */
export async function resetPassword(args: string[]): Promise<number> {
  if (refusesPasswordFlag(args)) return 1;
  const flags = parseFlags({
    args,
    options: { email: { type: "string", default: "" } },
    required: ["email"],
    usage: resetPasswordUsage,
  });
  const password = flags && (await readPassword());
  if (!flags || !password) return 1;
  return withServices(async (services) => {
    await resetAccountPassword(services, { email: flags.email, password });
    console.error(`The password of ${flags.email} is changed and all its sessions are ended.`);
  });
}
