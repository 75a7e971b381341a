import type { Config, Env } from "../platform/index.ts";
import { readKeys } from "../providers/index.ts";
import { type CheckResult, failed } from "./checks.ts";
import { checkRights } from "./database.ts";
import { checkMail } from "./mail.ts";
import { clean, explain, secretsOf, type SeenClock } from "./other-side.ts";
import {
  checkAlertWebhook,
  checkClocks,
  checkProviderKeys,
  checkProxyWays,
  checkTelegram,
} from "./outside.ts";
import { checkBucketLinks } from "./storage.ts";

interface Connected {
  readonly env: Env;
  readonly config: Pick<Config, "assistant">;
  /** Of the database in use; null when it cannot be opened. */
  readonly databaseUrl: string | null;
  /** Gets a message for trying; null: none is sent. */
  readonly mailTo: string | null;
}

/** The longest that all checks together take: they run side by side. */
const limitMs = 28_000;

/** Tries everything outside that this environment is connected to. Buys nothing and sends nothing. */
export async function checkConnections({
  env,
  config,
  databaseUrl,
  mailTo,
}: Connected): Promise<CheckResult[]> {
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
    within("Proxy", checkProxyWays(env, outside)),
    ...(databaseUrl === null
      ? []
      : [within("Database rights", checkRights(env.DATABASE_DIRECT_URL ?? databaseUrl, clocks))]),
  ]);
  return [...groups.flat(), checkClocks(clocks)];
}

/** The addresses of providers and of the bot that this environment calls. */
function outsideOf(env: Env): string[] {
  const keys = readKeys(env).map(({ access }) => access.baseUrl);
  const bot = env.TELEGRAM_BOT_TOKEN === undefined ? [] : [env.TELEGRAM_API_ROOT];
  return [...keys, ...bot];
}

/** The findings of a check, or why it gave none. */
async function within(name: string, check: Promise<CheckResult[]>): Promise<CheckResult[]> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<CheckResult[]>((resolve) => {
    const seconds = limitMs / 1_000;
    timer = setTimeout(
      () => resolve([failed(name, `gave no answer within ${seconds} s; look whether it is overloaded`)]),
      limitMs,
    );
  });
  try {
    return await Promise.race([check, late]);
  } catch (error) {
    return [
      { ...failed(name, "cannot be reached; correct its address, or start it"), noAnswer: explain(error) },
    ];
  } finally {
    clearTimeout(timer);
  }
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
    const message = `${clean(result.message, secrets, maxMessage)}${why && ` (${why})`}`;
    return {
      name: clean(result.name, secrets, maxQuoted),
      state: stateOf(result),
      message: words === "" ? message : `${message}. It says: “${words}”`,
    };
  });
}
