import { loadDotEnv } from "./dot-env.ts";

interface Verb {
  readonly summary: string;
  /** Returns the exit code. */
  readonly load: () => Promise<(args: string[]) => Promise<number>>;
}

const verbs: Readonly<Record<string, Verb>> = {
  doctor: {
    summary: "checks the configuration and everything that it names",
    load: async () => (await import("./doctor.ts")).doctor,
  },
  "create-user": {
    summary: "makes an account: --email [--admin]; asks for the password, or reads it from a pipe",
    load: async () => (await import("./accounts.ts")).createUser,
  },
  "create-api-key": {
    summary:
      "makes an API key of an account and prints it once: --email [--name] [--rights] [--days] [--cap]",
    load: async () => (await import("./accounts.ts")).createApiKey,
  },
  invite: {
    summary: "makes a link for one new account (SIGN_UP=invite): [--days]",
    load: async () => (await import("./accounts.ts")).invite,
  },
  "reset-password": {
    summary: "sets a password and ends all sessions: --email; asks for the password, or reads it from a pipe",
    load: async () => (await import("./accounts.ts")).resetPassword,
  },
  users: {
    summary:
      "list, suspend, unsuspend, quota, role, reset-link, reset-factors, admin-factor, delete: what an admin may do to users",
    load: async () => (await import("./users.ts")).users,
  },
  storage: {
    summary:
      "copy --to bucket|files [--verify] [--move]: copies the pictures between the data folder and the bucket",
    load: async () => (await import("./storage.ts")).storage,
  },
  backup: {
    summary: "--to FOLDER: copies the rows and the pictures of the studio into a new folder, while it runs",
    load: async () => (await import("./backup.ts")).backup,
  },
  restore: {
    summary: "--from FOLDER: fills an empty studio from a backup; --check only reads and compares",
    load: async () => (await import("./backup.ts")).restore,
  },
  seed: {
    summary:
      "fills a studio so that no page is empty, for work on the product: [--add] [--stay]; --remove takes it away",
    load: async () => (await import("./seed/index.ts")).seed,
  },
  logs: {
    summary: "prints what was logged about a job, or by a node about its jobs: --job ID | --node NAME",
    load: async () => (await import("./logs.ts")).logs,
  },
  "recall-eval": {
    summary:
      "FILE: measures how well the assistant's memory finds what questions are about (docs/assistant.md)",
    load: async () => (await import("./recall-eval.ts")).recallEval,
  },
  models: {
    summary: "list, add text-model FILE: models that an operator adds to this computer (docs/assistant.md)",
    load: async () => (await import("./models.ts")).models,
  },
  archive: {
    summary: "makes memories of the talks with the assistant that have ended, now",
    load: async () => (await import("./archive.ts")).archive,
  },
  mcp: {
    summary:
      "[--url URL], key in ATELIER_API_KEY: the studio's tools for a program that speaks MCP on stdin and stdout",
    load: async () => (await import("./mcp.ts")).mcp,
  },
  workflow: {
    summary: "check DIR [--server URL]: what is wrong with workflow folders",
    load: async () => (await import("./workflow.ts")).workflow,
  },
};

const asksForHelp: ReadonlySet<string> = new Set(["--help", "-h"]);

function help(): string {
  const rows = Object.entries({ ...verbs, help: { summary: "shows this list" } });
  const lines = rows.map(([name, { summary }]) => `  ${name.padEnd(16)} ${summary}`);
  return ["Usage: atelier <command>", "", ...lines].join("\n");
}

async function main([name = "help", ...args]: string[]): Promise<number> {
  const verb = Object.hasOwn(verbs, name) ? verbs[name] : undefined;
  if (verb && args.some((arg) => asksForHelp.has(arg))) {
    console.log(`atelier ${name}: ${verb.summary}`);
    return 0;
  }
  if (verb) return (await verb.load())(args);
  if (name === "help" || asksForHelp.has(name)) {
    console.log(help());
    return 0;
  }
  console.error(`There is no command "${name}".\n\n${help()}`);
  return 1;
}

// Pictures and logs are for this user alone.
process.umask(0o077);
loadDotEnv();
process.exitCode = await main(process.argv.slice(2));
