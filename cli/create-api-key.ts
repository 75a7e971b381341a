import { createApiKey as createKey, findAccount } from "@atelier/server/accounts";
import { withServices } from "./database.ts";
import { parseFlags } from "./parse-flags.ts";

const createApiKeyUsage = "Usage: atelier create-api-key --email <address> [--name <name>]";

/** `atelier create-api-key`: makes an API key for an account; stdout holds the key alone, which is shown this once. */
export async function createApiKey(args: string[]): Promise<number> {
  const flags = parseFlags({
    args,
    options: {
      email: { type: "string", default: "" },
      name: { type: "string", default: "command line" },
    },
    required: ["email", "name"],
    usage: createApiKeyUsage,
  });
  if (!flags) return 1;
  return withServices(async (services) => {
    const { id: userId } = await findAccount(services, { email: flags.email });
    const { key } = await createKey(services, { userId, name: flags.name });
    console.log(key);
  });
}
