import { type Env, explain, openTunnel, readProxy, traceCollectorUrl } from "../platform/index.ts";
import {
  type KeyAnswer,
  ProviderError,
  type ProviderKey,
  readKeys,
  titleOfProvider,
  tryKey,
} from "../providers/index.ts";
import { type CheckResult, failed, passed, untried, warned } from "./checks.ts";
import { type Answer, ask, isPage, member, type SeenClock, wordsOf } from "./other-side.ts";

const refused: readonly number[] = [401, 403, 407];

/** What an answer with an unexpected status is, with the other side's words. */
export function saidNo(name: string, answer: Answer, advice: string): CheckResult {
  const { status } = answer;
  const message = refused.includes(status)
    ? `refuses (HTTP ${status}); ${advice}`
    : `answers HTTP ${status}; ${advice}`;
  return { ...failed(name, message), said: wordsOf(answer) };
}

const botAdvice = "correct TELEGRAM_BOT_TOKEN (BotFather has it) and TELEGRAM_API_ROOT";

/** Whether the bot's token is taken, its name is the one that is set, and its messages come here. */
export async function checkTelegram(env: Env, clocks: SeenClock[]): Promise<CheckResult[]> {
  const { TELEGRAM_BOT_TOKEN: token, TELEGRAM_API_ROOT: root, TELEGRAM_BOT_NAME: wanted } = env;
  const name = "Telegram bot";
  if (token === undefined) return [untried(name, "TELEGRAM_BOT_TOKEN is not set")];
  const me = await ask(`${root}/bot${token}/getMe`, {}, clocks);
  const bot = member(me.json, "result", "username");
  if (me.status !== 200 || typeof bot !== "string") return [saidNo(name, me, botAdvice)];
  if (wanted !== undefined && wanted.toLowerCase() !== bot.toLowerCase())
    return [warned(name, `the token is of @${bot}, and links lead to @${wanted}; correct TELEGRAM_BOT_NAME`)];
  const hook = await ask(`${root}/bot${token}/getWebhookInfo`, {}, clocks);
  const url = member(hook.json, "result", "url");
  if (typeof url === "string" && url !== "") {
    const advice = "another program set it; call deleteWebhook, or make a bot of its own for this studio";
    return [failed(name, `@${bot}: messages go to a webhook and not to this studio; ${advice}`)];
  }
  const waiting = Number(member(hook.json, "result", "pending_update_count") ?? 0);
  return [passed(name, waiting > 0 ? `@${bot}, ${waiting} messages wait for a worker` : `@${bot}`)];
}

/** Whether somebody answers at the address for alerts; nothing is sent there. */
export async function checkAlertWebhook(env: Env, clocks: SeenClock[]): Promise<CheckResult[]> {
  const name = "ALERT_WEBHOOK_URL";
  if (env.ALERT_WEBHOOK_URL === undefined)
    return [untried(name, "is not set: faults are told by e-mail alone")];
  const { host } = new URL(env.ALERT_WEBHOOK_URL);
  const answer = await ask(env.ALERT_WEBHOOK_URL, { method: "HEAD" }, clocks);
  if (answer.status < 300 || answer.status === 405 || answer.status === 400)
    return [passed(name, `${host} answers (HTTP ${answer.status} to HEAD; nothing was sent)`)];
  return [warned(name, `${host} answers HTTP ${answer.status} to HEAD; check that it takes a POST`)];
}

const whereTracesGo =
  "the address has to be for OTLP over HTTP with JSON: OTEL_EXPORTER_OTLP_ENDPOINT without /v1/traces, OTEL_EXPORTER_OTLP_TRACES_ENDPOINT with /v1/traces";

/** Whether the collector takes spans; an empty list is sent. */
export async function checkTraces(env: Env, clocks: SeenClock[]): Promise<CheckResult[]> {
  const name = "Trace collector";
  if (env.OTEL_SDK_DISABLED) return [untried(name, "OTEL_SDK_DISABLED is set: nothing is traced")];
  const url = traceCollectorUrl(env);
  if (url === null) return [untried(name, "OTEL_EXPORTER_OTLP_ENDPOINT is not set: nothing is traced")];
  const headers = { "content-type": "application/json" };
  const answer = await ask(url, { method: "POST", headers, body: '{"resourceSpans":[]}' }, clocks);
  if (answer.status < 300) return [passed(name, `${new URL(url).host} takes spans`)];
  if (!refused.includes(answer.status)) return [saidNo(name, answer, whereTracesGo)];
  const advice = "this check sends none of OTEL_EXPORTER_OTLP_HEADERS; look whether they hold its key";
  const refusal = warned(name, `refuses (HTTP ${answer.status}); ${advice}`);
  return [{ ...refusal, said: wordsOf(answer) }];
}

interface Face {
  readonly name: string;
  readonly path: string;
  /** Sent as JSON; a GET without it. */
  readonly body?: object;
}

const initialize = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-06-18", capabilities: {}, clientInfo: { name: "doctor", version: "1" } },
};
const faces: readonly Face[] = [
  { name: "HTTP API", path: "/api/v1/keys/me" },
  { name: "API of OpenAI", path: "/v1/models" },
  { name: "API of AUTOMATIC1111", path: "/sdapi/v1/options" },
  { name: "API of IOPaint", path: "/iopaint/api/v1/samplers" },
  { name: "MCP", path: "/mcp", body: initialize },
];

/** Whether each API for programs answers at `APP_URL`. No key is sent: the studio itself must ask for one. */
export async function checkFaces(env: Pick<Env, "APP_URL">, clocks: SeenClock[]): Promise<CheckResult[]> {
  const { APP_URL: address } = env;
  if (address === undefined) return [untried("APIs for programs", "APP_URL is not set")];
  return Promise.all(faces.map((face) => checkFace(new URL(address).origin, face, clocks)));
}

async function checkFace(
  origin: string,
  { name, path, body }: Face,
  clocks: SeenClock[],
): Promise<CheckResult> {
  const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
  const question = body ? ({ method: "POST", headers, body: JSON.stringify(body) } as const) : {};
  try {
    const answer = await ask(`${origin}${path}`, question, clocks);
    return judgeFace(name, path, answer);
  } catch (error) {
    const message = `${origin}${path} gives no answer; start the web process, or correct APP_URL`;
    return { ...warned(name, message), noAnswer: explain(error) };
  }
}

function judgeFace(name: string, path: string, answer: Answer): CheckResult {
  if (isPage(answer) || (answer.status >= 300 && answer.status < 400)) {
    const advice = "let what stands before the studio pass this path";
    return {
      ...warned(name, `${path} leads to a page for people, which programs cannot use; ${advice}`),
      said: wordsOf(answer),
    };
  }
  const { headers, status } = answer;
  const isOwn =
    headers.get("www-authenticate")?.includes('realm="Atelier"') === true ||
    headers.get("content-type")?.startsWith("application/problem+json") === true;
  if (status === 401 && isOwn) return passed(name, `${path} answers, and asks for a key`);
  return saidNo(name, answer, `the studio asks for a key at ${path}; look what answers there in its place`);
}

const connectMs = 10_000;

/** Whether each proxy opens a way to a host outside that this studio calls. */
export async function checkProxyWays(env: Env, outside: readonly string[]): Promise<CheckResult[]> {
  const names = ["HTTPS_PROXY", "HTTP_PROXY", "ALL_PROXY"] as const;
  const given = [...new Set(names.map((name) => env[name]))].filter((text) => text !== undefined);
  const proxies = given.flatMap((text) => readProxy(text) ?? []);
  return Promise.all(
    proxies.map(async (proxy) => {
      const name = `Proxy ${proxy.host}`;
      const target = outside.map((url) => new URL(url)).find(({ protocol }) => protocol === "https:");
      if (!target) return untried(name, "nothing that this studio calls lies outside of its network");
      const way = { host: target.hostname, port: target.port || "443" };
      try {
        const socket = await openTunnel(proxy, way, AbortSignal.timeout(connectMs));
        socket.destroy();
        return passed(name, `opens the way to ${way.host}:${way.port}`);
      } catch (error) {
        const reason =
          error instanceof Error && "code" in error && error.code === "ERR_PROXY" ? error.message : "";
        const cause = error instanceof Error && error.cause ? explain(error.cause) : explain(error);
        const advice = "correct the proxy or its password, or name the host in NO_PROXY";
        return {
          ...failed(name, `${way.host}:${way.port} cannot be reached through it; ${advice}`),
          noAnswer: reason || cause,
        };
      }
    }),
  );
}

/** More than an upload's signature and a code of a mail bear. */
const maxSkewMs = 30_000;

/** Compares this machine's clock with those of all sides that told their time. */
export function checkClocks(clocks: readonly SeenClock[]): CheckResult {
  const name = "Clock";
  if (clocks.length === 0) return untried(name, "no other side told its time");
  const off = clocks.filter(({ aheadMs }) => Math.abs(aheadMs) > maxSkewMs);
  const sides = new Set(clocks.map(({ side }) => side)).size;
  if (off.length === 0) {
    const one = "agrees with 1 other side within 30 s";
    return passed(name, sides === 1 ? one : `agrees with ${sides} other sides within 30 s`);
  }
  const differ = [...new Map(off.map((clock) => [clock.side, clock])).values()].slice(0, 3);
  const told = differ.map(({ side, aheadMs }) => {
    const seconds = Math.round(Math.abs(aheadMs) / 1_000);
    return aheadMs > 0 ? `${seconds} s behind ${side}` : `${seconds} s ahead of ${side}`;
  });
  return warned(
    name,
    `this machine's clock is ${told.join(", ")}; set the clocks by NTP: signatures and sessions need them`,
  );
}

const tryMs = 10_000;

/** One line for each key: what the provider says to a call that buys nothing. */
export function checkProviderKeys(env: Env): Promise<CheckResult[]> {
  const keys = readKeys(env);
  if (keys.length === 0)
    return Promise.resolve([untried("Image providers", "no key is set: pictures are made by own machines")]);
  const several = (key: ProviderKey) => keys.filter(({ provider }) => provider === key.provider).length > 1;
  return Promise.all(
    keys.map((key) => {
      const title = titleOfProvider(key.provider);
      return checkKey(several(key) ? `${title}, key ${key.keyId}` : title, key);
    }),
  );
}

async function checkKey(name: string, key: ProviderKey): Promise<CheckResult> {
  try {
    const answer = await tryKey(key, AbortSignal.timeout(tryMs));
    return answer === null ? untried(name, "it has no call that costs nothing") : judgeKey(name, key, answer);
  } catch (error) {
    const cause = error instanceof ProviderError && error.cause !== undefined ? error.cause : error;
    const advice = "look at its address, the network and HTTPS_PROXY";
    return { ...failed(name, `cannot be reached; ${advice}`), noAnswer: explain(cause) };
  }
}

function judgeKey(name: string, { provider }: ProviderKey, answer: KeyAnswer): CheckResult {
  const { status, words, credits } = answer;
  if (status === 200 && answer.isJson) {
    const message =
      credits === null
        ? "takes the key; nothing was bought"
        : `takes the key, ${credits} credits left; nothing was bought`;
    return credits === 0 ? warned(name, `${message}; top the account up`) : passed(name, message);
  }
  const warning = warnings[status];
  if (warning !== undefined) return { ...warned(name, `${warning} (HTTP ${status})`), said: words };
  const setting = provider === "openai" ? "OPENAI_IMAGES_API_KEY" : `${provider.toUpperCase()}_API_KEY`;
  return { ...failed(name, `${faultOf(status, setting)} (HTTP ${status})`), said: words };
}

/** Statuses that say nothing against the key. */
const warnings: Readonly<Record<number, string>> = {
  402: "the account needs money",
  404: "has no such call at this address, so the key stays untried",
  405: "has no such call at this address, so the key stays untried",
  429: "asks for fewer calls; the key was not refused",
};

function faultOf(status: number, setting: string): string {
  if (status < 400) return "answers, but not as its API does; correct the address";
  return status < 500 ? `refuses the key; correct ${setting}` : "is out of order; try again later";
}
