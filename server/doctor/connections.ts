import { gateModel } from "../gate/index.ts";
import { hasModel, isWhole } from "../models/index.ts";
import type { Config, Env } from "../platform/index.ts";
import { readKeys } from "../providers/index.ts";
import { type CheckResult, failed, passed, within } from "./checks.ts";
import { checkOwnSigningKey } from "./database.ts";
import { checkRights } from "./role.ts";
import { checkMail } from "./mail.ts";
import { clean, secretsOf, type SeenClock } from "./other-side.ts";
import {
  checkAlertWebhook,
  checkTraces,
  checkClocks,
  checkFaces,
  checkProviderKeys,
  checkProxyWays,
  checkTelegram,
} from "./outside.ts";
import { checkIdentityProviders } from "./sign-in.ts";
import { checkBucketLinks } from "./storage.ts";

interface Connected {
  readonly env: Env;
  readonly config: Pick<Config, "assistant" | "safety" | "signIn">;
  /** Address of the database in use, once it is open; null when it cannot be opened. */
  readonly database: Promise<string | null>;
  /** Gets a message for trying; null: none is sent. */
  readonly mailTo: string | null;
}

/** Tries everything outside that this environment is connected to. Buys nothing and sends nothing. */
export async function checkConnections({ env, config, database, mailTo }: Connected): Promise<CheckResult[]> {
  const clocks: SeenClock[] = [];
  // Loaded late: a start checks without them, and the assistant's packages take time.
  const { checkModels, vendorAddresses } = await import("./language-models.ts");
  const outside = [...vendorAddresses({ env, config }), ...outsideOf(env)];
  const groups = await Promise.all([
    within("Language models", checkModels({ env, config, clocks })),
    within("Image providers", checkProviderKeys(env)),
    within("Links to the bucket", checkBucketLinks(env, clocks)),
    within("Mail server", checkMail(env, mailTo)),
    within("Telegram bot", checkTelegram(env, clocks)),
    within("ALERT_WEBHOOK_URL", checkAlertWebhook(env, clocks)),
    within("Trace collector", checkTraces(env, clocks)),
    within("APIs for programs", checkFaces(env, clocks)),
    within("Sign-in providers", checkIdentityProviders(env, config.signIn, clocks)),
    within("Content check", checkGate(env, config)),
    within("Proxy", checkProxyWays(env, outside)),
    within("Database rights", checkRightsIn(database, { env, clocks })),
    within("Signing key", checkOwnSigner(env, database)),
  ]);
  return [...groups.flat(), checkClocks(clocks)];
}

/** The model of the gate; nothing where the gate is off. */
async function checkGate(env: Env, { safety }: Pick<Config, "safety">): Promise<CheckResult[]> {
  const name = "Content check";
  const kinds = new Set([...Object.keys(safety.refuseInputs), ...Object.keys(safety.refuseResults)]);
  if (kinds.size === 0) return [];
  const listed = [...kinds].join(", ");
  const advice = "on each computer with a worker: atelier models add content-gate FILE";
  if (!hasModel(env, gateModel))
    return [
      failed(name, `is on for ${listed}, which fail where its model is missing, as here; add it ${advice}`),
    ];
  return (await isWhole(env, gateModel))
    ? [passed(name, `is on for ${listed}; its model is on this computer (${gateModel.licence})`)]
    : [failed(name, `its model is damaged; add it again, ${advice}`)];
}

async function checkOwnSigner(env: Env, database: Connected["database"]): Promise<CheckResult[]> {
  const url = await database;
  return url === null ? [] : checkOwnSigningKey(env, env.DATABASE_DIRECT_URL ?? url);
}

async function checkRightsIn(
  database: Connected["database"],
  { env, clocks }: { readonly env: Env; readonly clocks: SeenClock[] },
): Promise<CheckResult[]> {
  const url = await database;
  return url === null ? [] : checkRights(env.DATABASE_DIRECT_URL ?? url, clocks);
}

/** The addresses of providers and of the bot that this environment calls. */
function outsideOf(env: Env): string[] {
  const keys = readKeys(env).map(({ access }) => access.baseUrl);
  const bot = env.TELEGRAM_BOT_TOKEN === undefined ? [] : [env.TELEGRAM_API_ROOT];
  return [...keys, ...bot];
}

type State = "ok" | "warn" | "fail" | "not tried";

/** One line about one thing, fit to be shown. */
export interface Finding {
  readonly name: string;
  readonly state: State;
  readonly message: string;
}

function stateOf({ isOk, isWarning, isUntried }: CheckResult): State {
  if (!isOk) return "fail";
  if (isUntried) return "not tried";
  return isWarning ? "warn" : "ok";
}

const maxQuoted = 200;
const maxMessage = 600;

/** The findings as they are shown: one line each, the other side's words quoted, no secret of the environment. */
export function finish(results: readonly CheckResult[], env: Readonly<Partial<Env>>): Finding[] {
  const secrets = secretsOf(env);
  return results.map((result) => {
    const words = clean(result.said ?? "", secrets, maxQuoted);
    const why = clean(result.noAnswer ?? "", secrets, maxQuoted);
    const told = clean(result.message, secrets, maxMessage);
    const message = why === "" ? told : `${told} (${why})`;
    return {
      name: clean(result.name, secrets, maxQuoted),
      state: stateOf(result),
      message: words === "" ? message : `${message.replace(/\.$/, "")}. It says: “${words}”`,
    };
  });
}
