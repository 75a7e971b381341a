import { resetPassword as reset } from "@atelier/server/accounts";
import { parseFlags } from "./parse-flags.ts";
import { withServices } from "./with-services.ts";

const usage = "Usage: atelier reset-password --email <address> --password <password>";

/** `atelier reset-password`: sets a new password and ends all sessions of the account. */
export async function resetPassword(args: string[]): Promise<number> {
  const flags = parseFlags({
    args,
    options: { email: { type: "string", default: "" }, password: { type: "string", default: "" } },
    required: ["email", "password"],
    usage,
  });
  if (!flags) return 1;
  return withServices(async (services) => {
    await reset(services, { email: flags.email, password: flags.password });
    console.error(`The password of ${flags.email} is changed and all its sessions are ended.`);
  });
}
