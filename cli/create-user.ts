import { createUser as create } from "@atelier/server/accounts";
import { parseFlags } from "./parse-flags.ts";
import { withServices } from "./with-services.ts";

const usage = "Usage: atelier create-user --email <address> --password <password> [--admin]";

/** `atelier create-user`: makes an account; prints its id. */
export async function createUser(args: string[]): Promise<number> {
  const flags = parseFlags({
    args,
    options: {
      email: { type: "string", default: "" },
      password: { type: "string", default: "" },
      admin: { type: "boolean", default: false },
    },
    required: ["email", "password"],
    usage,
  });
  if (!flags) return 1;
  return withServices(async (services) => {
    const { email, password, admin } = flags;
    const { id } = await create(services, { email, password, isAdmin: admin });
    console.log(id);
  });
}
