import { createInvitation, invitationDays } from "@atelier/server/accounts";
import { parseFlags } from "./parse-flags.ts";
import { withServices } from "./database.ts";

const usage = "Usage: atelier invite [--days <days>]";

/** `atelier invite`: makes an invitation for one account; stdout holds the link alone, which is shown this once. */
export async function invite(args: string[]): Promise<number> {
  const options = { days: { type: "string", default: String(invitationDays.default) } } as const;
  const flags = parseFlags({ args, options, required: ["days"], usage });
  if (!flags) return 1;
  const days = Number(flags.days);
  if (!Number.isInteger(days) || days < invitationDays.min || days > invitationDays.max) {
    console.error(
      `--days must be a whole number from ${invitationDays.min} to ${invitationDays.max}.\n${usage}`,
    );
    return 1;
  }
  return withServices(async (services) => {
    const { APP_URL, PORT, SIGN_UP } = services.env;
    const { token } = await createInvitation(services, { createdBy: null, days });
    if (SIGN_UP !== "invite") console.error(`SIGN_UP is ${SIGN_UP}: the link works once it is "invite".`);
    const origin = APP_URL === undefined ? `http://localhost:${PORT}` : new URL(APP_URL).origin;
    console.log(`${origin}/sign-in#invitation=${token}`);
  });
}
