import { createUser as createUserAccount } from "@atelier/server/accounts";
import { readPassword, refusesPasswordFlag } from "./accounts.ts";
import { withServices } from "./database.ts";
import { parseFlags } from "./parse-flags.ts";

const createUserUsage = "Usage: atelier create-user --email <address> [--admin]";

/** `atelier create-user`: makes an account with the password from standard input; prints its id. */
export async function createUser(args: string[]): Promise<number> {
  if (refusesPasswordFlag(args)) return 1;
  const flags = parseFlags({
    args,
    options: { email: { type: "string", default: "" }, admin: { type: "boolean", default: false } },
    required: ["email"],
    usage: createUserUsage,
  });
  const password = flags && (await readPassword());
  if (!flags || !password) return 1;
  return withServices(async (services) => {
    const { email, admin } = flags;
    const { id } = await createUserAccount(services, { email, password, isAdmin: admin });
    console.log(id);
  });
}
