import { z } from "zod";
import { isAddressRange, withoutBrackets } from "./addresses.ts";
import { usualConfigFile } from "./config.ts";
import { clientSecrets } from "./config-sign-in.ts";
import { type ConfigProblem, findQuoted, nearestName } from "./config-problems.ts";
import {
  baseUrl,
  collectorUrl,
  databaseUrl,
  findDearVision,
  mailbox,
  openaiUrl,
  originUrl,
  proxyText,
  redisUrl,
  smtpUrl,
  webUrl,
  proxyNames,
  withProxies,
} from "./env-addresses.ts";
import { withPlatform } from "./functions.ts";
import { isHostEntry } from "./public-addresses.ts";

const text = z.string().trim().min(1);
const optionalText = text.optional();
const flag = (usual: boolean) => z.stringbool({ error: "must be true or false" }).default(usual);
const list = z.string().transform((value) =>
  value
    .split(",")
    .map((item) => item.trim())
    .filter(Boolean),
);

function integer(min: number, max: number) {
  const error = `must be a whole number from ${min} to ${max}`;
  return z.coerce.number({ error }).int({ error }).min(min, { error }).max(max, { error });
}

const logLevels = ["fatal", "error", "warn", "info", "debug", "trace", "silent"] as const;
const signUps = ["open", "invite", "closed"] as const;

const keysOf = (form: RegExp, how: string, advice = `must be a key of signs of ASCII, ${how}`) => ({
  one: text.regex(form, advice),
  several: list.refine((items) => items.every((item) => form.test(item)), advice).default([]),
});
/** Goes into a header as it is; a sign of another kind came with a copy, and the other side would only refuse the sign-in. */
const { one: key, several: keys } = keysOf(/^[\x21-\x7e]+$/, "without blanks");
/** For a server of one's own, which may take any words where it asks for no key. */
const ownKey = keysOf(/^(?!bearer\s)[\x20-\x7e]+$/i, "in one line and without Bearer");

/** Anything else could not be sent in a header, or would not be read as one token. */
const bearerToken = z
  .string()
  .min(16, "must have at least 16 characters")
  .regex(/^[\x21-\x7e]*$/, "must be of letters, digits and signs of ASCII, without blanks");

const downloads = ["stream", "link"] as const;

/** As BotFather gives it: the bot's number, a colon, the secret. */
const telegramToken = z
  .string()
  .trim()
  .regex(/^\d{1,20}:[\w-]{20,100}$/, "must be a token of BotFather like 123456:ABC-DEF");
const telegramName = z
  .string()
  .trim()
  .transform((name) => name.replace(/^@/, ""))
  .refine((name) => /^\w{3,64}$/.test(name), "must be the name of a bot like my_studio_bot");

/** Key, address and webhook secret of each provider; OPENAI_IMAGES is any server with OpenAI's API of images. */
const providerNamesInEnv = {
  REPLICATE_API_KEY: keys,
  REPLICATE_BASE_URL: baseUrl.default("https://api.replicate.com/v1"),
  REPLICATE_WEBHOOK_SECRET: optionalText,
  FAL_API_KEY: keys,
  FAL_BASE_URL: baseUrl.default("https://queue.fal.run"),
  GOOGLE_API_KEY: keys,
  GOOGLE_BASE_URL: baseUrl.default("https://generativelanguage.googleapis.com/v1beta"),
  HIGGSFIELD_API_KEY: keys,
  HIGGSFIELD_BASE_URL: baseUrl.default("https://api.higgsfield.ai"),
  HIGGSFIELD_WEBHOOK_SECRET: optionalText,
  KIE_API_KEY: keys,
  KIE_BASE_URL: baseUrl.default("https://api.kie.ai"),
  KIE_WEBHOOK_SECRET: optionalText,
  FASHN_API_KEY: keys,
  FASHN_BASE_URL: baseUrl.default("https://api.fashn.ai/v1"),
  OPENAI_IMAGES_API_KEY: ownKey.several,
  OPENAI_IMAGES_BASE_URL: openaiUrl.default("https://api.openai.com/v1"),
};

/** Language models of the assistant. */
const modelNamesInEnv = {
  ANTHROPIC_API_KEY: key.optional(),
  GOOGLE_GENERATIVE_AI_API_KEY: key.optional(),
  OPENAI_API_KEY: key.optional(),
  /** Gateways instead of the vendor. Not judged: other programs read these names, too. */
  ANTHROPIC_BASE_URL: text.default("https://api.anthropic.com/v1"),
  OPENAI_BASE_URL: text.default("https://api.openai.com/v1"),
  /** Any server with the chat API of OpenAI, such as Ollama or llama.cpp, and its key if it wants one. */
  LLM_BASE_URL: openaiUrl.optional(),
  LLM_API_KEY: ownKey.one.optional(),
  LLM_ANALYZER_MODEL: optionalText,
  LLM_RESPONDER_MODEL: optionalText,
  LLM_ARCHIVIST_MODEL: optionalText,
  LLM_EMBEDDING_MODEL: optionalText,
  /** Describes pictures without words, as local/<model> at LLM_BASE_URL on the own network; unset: none is described. */
  LLM_VISION_MODEL: optionalText,
};

const envSchema = z.object({
  DATABASE_URL: databaseUrl.optional(),
  DATABASE_DIRECT_URL: databaseUrl.optional(),
  /** Set when DATABASE_URL leads to a pooler in transaction mode: no prepared statements, no limits at the start. */
  DATABASE_POOLER: z.enum(["transaction"], { error: "must be transaction, or unset" }).optional(),
  /** Connections to the database of one process; unset: 10, of a function 3. */
  DATABASE_MAX_CONNECTIONS: integer(1, 100).optional(),
  REDIS_URL: redisUrl.optional(),
  /** The bucket for pictures and the server that holds it; without a bucket they are files in the data folder. */
  S3_BUCKET: optionalText,
  S3_ACCESS_KEY_ID: key.optional(),
  S3_SECRET_ACCESS_KEY: optionalText,
  S3_REGION: text.default("us-east-1"),
  /** Unset for Amazon's own servers. */
  S3_ENDPOINT: baseUrl.optional(),
  /** Where browsers reach the same server, when they use another address. */
  S3_PUBLIC_ENDPOINT: baseUrl.optional(),
  /** Whether the name of the bucket stands in the path, or before the host. */
  S3_FORCE_PATH_STYLE: flag(true),
  /** Whether pictures reach browsers through the studio or by a link to the bucket. */
  S3_DOWNLOADS: z.enum(downloads, { error: `must be one of ${downloads.join(", ")}` }).default("stream"),
  APP_URL: originUrl.optional(),
  HOST: text.transform(withoutBrackets).default("127.0.0.1"),
  PORT: integer(0, 65_535).default(3000),
  /** Set when the web runs as functions: the seconds after which the platform ends a request. */
  FUNCTION_SECONDS: integer(10, 3_600).optional(),
  /** Proxies whose X-Forwarded-* headers count; without one the address of the socket is the client's. */
  TRUSTED_PROXIES: list
    .refine(
      (items) => items.every(isAddressRange),
      "must be addresses or ranges like 10.0.0.1,192.168.0.0/16",
    )
    .default([]),
  /** Private hosts that addresses given by users and providers may name, and that may be reached without TLS. */
  ALLOWED_PRIVATE_HOSTS: list
    .refine((items) => items.every(isHostEntry), "must be hosts like nas.lan,10.0.0.5:8080,[fd00::1]:8080")
    .default([]),
  /** Forward proxies for calls to the outside, also under their names in small letters, and what is reached without. */
  HTTPS_PROXY: proxyText.optional(),
  HTTP_PROXY: proxyText.optional(),
  ALL_PROXY: proxyText.optional(),
  NO_PROXY: list.optional(),
  /** Mail server and sender of e-mail about completed jobs; without them none is sent. */
  SMTP_URL: smtpUrl.optional(),
  SMTP_FROM: mailbox.optional(),
  /** Is told of faults of the studio, as are admins by e-mail. */
  ALERT_WEBHOOK_URL: webUrl.optional(),
  /** The bot that delivers results and takes jobs; without a token there is none. Any server may have its API. */
  TELEGRAM_BOT_TOKEN: telegramToken.optional(),
  TELEGRAM_API_ROOT: baseUrl.default("https://api.telegram.org"),
  /** Saves asking Telegram for it. */
  TELEGRAM_BOT_NAME: telegramName.optional(),
  /** Who may create an account: everybody, people with an invitation, or only the operator. Guests need `open`. */
  SIGN_UP: z.enum(signUps, { error: `must be one of ${signUps.join(", ")}` }).default("open"),
  /** Client secrets of the providers of sign-in, as JSON by the id of the provider; see docs/sign-in.md. */
  OIDC_CLIENT_SECRETS: clientSecrets.optional(),
  /** Answers programs that were written for the old job server, for IOPaint and for Lama Cleaner at their own paths. */
  EXISTING_CLIENTS: flag(false),
  /** Key and certificates (PEM, or files with them) that sign what AI made, instead of the studio's own; see docs/provenance.md. */
  SIGNING_KEY: optionalText,
  SIGNING_CERTIFICATES: optionalText,
  /** A collector of traces by OTLP over HTTP, or its whole address; unset: nothing is traced. See docs/debugging.md. */
  OTEL_EXPORTER_OTLP_ENDPOINT: collectorUrl.optional(),
  OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: webUrl.optional(),
  OTEL_SDK_DISABLED: flag(false),
  OTEL_SERVICE_NAME: text.max(100, "must have at most 100 characters").optional(),
  /** Puts prompts into spans of models. */
  OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT: flag(false),
  /** A request's `traceparent` is the parent of its trace; else the trace is the studio's own and links to it. */
  TRUST_TRACEPARENT: flag(false),
  AUTH_SECRET: z.string().min(32, "must have at least 32 characters").optional(),
  WORKER_NAME: text.max(100, "must have at most 100 characters").optional(),
  WORKER_ONLY: list.default([]),
  WORKER_CPU_SLOTS: integer(1, 64).optional(),
  WORKER_GPU_SLOTS: integer(1, 64).optional(),
  /** Port of the worker's own HTTP endpoints; they need the token. */
  WORKER_HTTP_PORT: integer(0, 65_535).optional(),
  WORKER_HTTP_TOKEN: bearerToken.optional(),
  /** Addresses of ComfyUI and IOPaint servers, and where else to look for ComfyUI servers; see docs/servers.md. */
  COMFYUI_URLS: list.default([]),
  COMFYUI_DISCOVERY: list.default([]),
  IOPAINT_URLS: list.default([]),
  /** Headers for servers, by address, as JSON. */
  SERVER_HEADERS: optionalText,
  /** Keys of image providers, several of one provider separated by commas; see docs/providers.md. */
  ...providerNamesInEnv,
  ...modelNamesInEnv,
  /** Folder with workflows of one's own, one folder each. */
  WORKFLOWS_DIR: optionalText,
  /** Folder of the embedded services, the files and the logs. */
  ATELIER_DATA_DIR: text.default(".data"),
  /** File about behaviour (queues, limits, lease times). */
  ATELIER_CONFIG: text.default(usualConfigFile),
  LOG_LEVEL: z.enum(logLevels, { error: `must be one of ${logLevels.join(", ")}` }).default("info"),
});

export type Env = z.infer<typeof envSchema>;

/** Every name that the environment may set. */
export const envNames: readonly string[] = Object.keys(envSchema.shape);

type Source = Readonly<Record<string, string | undefined>>;

function dropBlank(source: Source): Source {
  return Object.fromEntries(Object.entries(source).filter(([, value]) => value?.trim()));
}

/** The second of each is needed where the first is set. */
const pairs = [
  ["DATABASE_DIRECT_URL", "DATABASE_URL"],
  ["DATABASE_POOLER", "DATABASE_URL"],
  ["WORKER_HTTP_PORT", "WORKER_HTTP_TOKEN"],
  ["S3_BUCKET", "S3_ACCESS_KEY_ID"],
  ["S3_BUCKET", "S3_SECRET_ACCESS_KEY"],
  ["S3_ENDPOINT", "S3_BUCKET"],
  ["S3_PUBLIC_ENDPOINT", "S3_BUCKET"],
  ["SMTP_URL", "SMTP_FROM"],
  ["SMTP_FROM", "SMTP_URL"],
  ["TELEGRAM_BOT_NAME", "TELEGRAM_BOT_TOKEN"],
  ["SIGNING_KEY", "SIGNING_CERTIFICATES"],
  ["SIGNING_CERTIFICATES", "SIGNING_KEY"],
] as const;

/** What the web as a function needs: its processes share nothing else, and none of them lasts. */
const neededByFunctions = ["DATABASE_URL", "REDIS_URL", "S3_BUCKET", "APP_URL", "AUTH_SECRET"] as const;

function findMissing(source: Source): ConfigProblem[] {
  const missing = source["FUNCTION_SECONDS"] ? neededByFunctions.filter((name) => !source[name]) : [];
  const ofFunctions = missing.map((name) => ({
    name,
    message: "is missing although FUNCTION_SECONDS is set: functions need it",
  }));
  const isServer = source["DATABASE_POOLER"] && !source["FUNCTION_SECONDS"];
  if (!isServer || source["DATABASE_DIRECT_URL"]) return ofFunctions;
  const message =
    "is missing although DATABASE_POOLER is set: migrations, LISTEN and a worker's beat need the server itself";
  return [...ofFunctions, { name: "DATABASE_DIRECT_URL", message }];
}

/** What is wrong between names. Read from the source, so that it is found however wrong the single values are. */
function findConflicts(source: Source): ConfigProblem[] {
  const ofPairs = pairs
    .filter(([given, needed]) => source[given] && !source[needed])
    .map(([given, needed]) => ({ name: needed, message: `is missing although ${given} is set` }));
  return [...ofPairs, ...findMissing(source), ...findQuoted(source, envNames)];
}

/**
 * Parses the environment as far as it is valid: wrong values are listed and replaced by their defaults, so that what
 * depends on the others can still be checked. Blank values count as unset.
 */
export function inspectEnv(source: Source): { env: Env; problems: ConfigProblem[] } {
  const filled = withProxies(withPlatform(dropBlank(source)));
  const result = envSchema.safeParse(filled);
  const conflicts = findConflicts(filled);
  if (result.success) return { env: result.data, problems: [...conflicts, ...findDearVision(result.data)] };
  const problems = result.error.issues.map(({ path, message }) => ({ name: path.join("."), message }));
  const wrong = new Set(problems.map(({ name }) => name));
  const rest = Object.fromEntries(Object.entries(filled).filter(([name]) => !wrong.has(name)));
  return { env: envSchema.parse(rest), problems: [...problems, ...conflicts] };
}

/** Read in small letters, too. */
const smallNames: ReadonlySet<string> = new Set(proxyNames.map((name) => name.toLowerCase()));
/** The start of names that are ours alone: what begins with one of them was meant for the studio. */
const ownStarts =
  /^(ATELIER|COMFYUI|IOPAINT|WORKER|REPLICATE|FAL|HIGGSFIELD|KIE|FASHN|OPENAI_IMAGES|LLM|TELEGRAM|S3|SMTP)_/;

/**
 * Names that are probably misspelled ones of ours: near to one that is not set. Other programs' names are in the
 * environment too, so this is a hint and no fault.
 */
export function findMisspelled(source: Source): ConfigProblem[] {
  const isLong = (name: string) => name.length > 5; // Short words are near to too many others.
  const unset = envNames.filter((name) => !source[name] && isLong(name));
  const unknown = Object.keys(source).filter(
    (name) => source[name] && isLong(name) && !envNames.includes(name) && !smallNames.has(name),
  );
  return unknown.flatMap((name) => {
    const near = nearestName(name, unset, ownStarts.test(name) ? undefined : 2);
    return near === null ? [] : [{ name, message: `is not a setting; did you mean ${near}?` }];
  });
}

/** Parses the environment; returns every problem at once instead of throwing. */
export function parseEnv(
  source: Source,
): { env: Env; problems: [] } | { env: null; problems: ConfigProblem[] } {
  const { env, problems } = inspectEnv(source);
  return problems.length === 0 ? { env, problems: [] } : { env: null, problems };
}
