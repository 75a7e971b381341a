import { createResetLink, findAccount, resetLinkHours, setAdminFactor } from "@atelier/server/accounts";
import { listUsersSchema, readUser, readUsers } from "@atelier/server/monitoring";
import { originOf } from "@atelier/server/platform";
import type { Services } from "@atelier/server/services";
import {
  deleteUser,
  maxQuotaBytes,
  resetFactors,
  setQuota,
  setRole,
  suspend,
  unsuspend,
} from "@atelier/server/users";
import { withServices } from "./database.ts";
import { parseFlags } from "./flags.ts";

const usage = `Usage: atelier users list [--search <text>]
       atelier users suspend|unsuspend --email <address>
       atelier users quota --email <address> --mb <number>|default
       atelier users role --email <address> --to admin|user
       atelier users reset-link --email <address>
       atelier users reset-factors --email <address>
       atelier users admin-factor --to on|off
       atelier users delete --email <address> --yes
Instead of --email, --id <id> names a user, as \`list\` shows it; guests have no address.`;

const options = {
  email: { type: "string", default: "" },
  id: { type: "string", default: "" },
  search: { type: "string", default: "" },
  mb: { type: "string", default: "" },
  to: { type: "string", default: "" },
  yes: { type: "boolean", default: false },
} as const;

type Flags = NonNullable<ReturnType<typeof parseFlags<typeof options>>>;

/** What an act needs; null after a message on stderr. */
type Act = (services: Services, userId: string) => Promise<void>;

const bytesPerMb = 1_048_576;

/** Commands that act on one user, made from their flags; a text says what is wrong with these. */
const acts: Readonly<Record<string, (flags: Flags) => Act | string>> = {
  suspend: () => async (services, userId) => {
    const { cancelledJobs } = await suspend(services, { userId, adminId: null });
    console.error(`Suspended; ${cancelledJobs} open jobs are cancelled.`);
  },
  unsuspend: () => async (services, userId) => {
    await unsuspend(services, { userId, adminId: null });
    console.error("The user can sign in again.");
  },
  quota({ mb }) {
    const quotaBytes = mb === "default" ? null : Math.round(Number(mb) * bytesPerMb);
    const isWrong = mb === "" || Number.isNaN(quotaBytes) || (quotaBytes ?? 0) < 0;
    if (isWrong || (quotaBytes ?? 0) > maxQuotaBytes) return '--mb must be a number from 0, or "default".';
    return async (services, userId) => {
      await setQuota(services, { userId, adminId: null, quotaBytes });
      const { usedBytes, limitBytes } = await readUser(services, { id: userId });
      console.error(`${inMb(usedBytes)} of ${inMb(limitBytes)} MB are used.`);
    };
  },
  role({ to }) {
    if (to !== "admin" && to !== "user") return '--to must be "admin" or "user".';
    return async (services, userId) => {
      await setRole(services, { userId, adminId: null, role: to });
      console.error(to === "admin" ? "The account is an admin now." : "The account is no admin any more.");
    };
  },
  "reset-link": () => async (services, userId) => {
    const { token } = await createResetLink(services, { userId, adminId: null });
    console.error(`The link works once, for ${resetLinkHours} hours. Hand it to the user.`);
    console.log(`${originOf(services.env)}/sign-in/new-password#${token}`);
  },
  "reset-factors": () => async (services, userId) => {
    await resetFactors(services, { userId, adminId: null });
    console.error(
      "Authenticator app, recovery codes and passkeys are gone: the password alone signs in again. A user without one needs `atelier users reset-link`.",
    );
  },
  delete({ email, yes }) {
    if (!yes)
      return "Everything of the user goes, and cannot be brought back. Repeat the command with --yes.";
    return async (services, userId) => {
      const user = await readUser(services, { id: userId });
      const confirm = email || (user.email ?? "delete");
      const { isGone } = await deleteUser(services, { userId, adminId: null, confirm });
      console.error(
        isGone ? "Deleted with everything." : "Deleted. A worker removes the rest within minutes.",
      );
    };
  },
};

const inMb = (bytes: number) => Math.round(bytes / bytesPerMb);

/** `atelier users`: what an admin may do to users, on the command line. Returns the exit code. */
export async function users([command = "", ...args]: string[]): Promise<number> {
  const flags = parseFlags({ args, options, required: [], usage });
  if (!flags) return 1;
  if (command === "list") return withServices((services) => printUsers(services, flags.search));
  if (command === "admin-factor") return setFactorRule(flags.to);
  const act = Object.hasOwn(acts, command) ? acts[command]?.(flags) : usage;
  const isNamed = flags.email !== "" || flags.id !== "";
  if (typeof act !== "function" || !isNamed) {
    console.error(typeof act === "string" ? act : `Missing: --email\n${usage}`);
    return 1;
  }
  return withServices(
    async (services) => {
      const userId = flags.email === "" ? flags.id : (await findAccount(services, flags)).id;
      await act(services, userId);
      services.log.info(
        { audit: true, adminId: null, action: `cli users ${command}`, userId },
        "operator action",
      );
    },
    { isAudited: true },
  );
}

/** Whether all admins need a second factor. */
async function setFactorRule(to: string): Promise<number> {
  if (to !== "on" && to !== "off") {
    console.error(`--to must be "on" or "off".\n${usage}`);
    return 1;
  }
  const isNeeded = to === "on";
  return withServices(
    async (services) => {
      await setAdminFactor(services, { isNeeded, adminId: null });
      console.error(
        isNeeded
          ? "Admins need a second factor now; without one they can do what any user can."
          : "Admins need no second factor any more.",
      );
    },
    { isAudited: true },
  );
}

/** One line a user: id, role, state, used and allowed MB, address or name. */
async function printUsers(services: Services, search: string): Promise<void> {
  for (let cursor: string | undefined; ;) {
    const page = await readUsers(
      services,
      listUsersSchema.parse({ limit: 100, cursor, search: search || undefined }),
    );
    for (const { id, role, state, usedBytes, limitBytes, email, name } of page.items)
      console.log([id, role, state, `${inMb(usedBytes)}/${inMb(limitBytes)}`, email ?? name].join("\t"));
    if (page.nextCursor === null) return;
    cursor = page.nextCursor;
  }
}
