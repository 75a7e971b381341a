import { type Env, explain } from "../platform/index.ts";
import { type CheckResult, failed, passed, untried, warned } from "./checks.ts";

/** Each step of the talk with the server. */
const stepMs = 5_000;
const name = "Mail server";

/**
 * Greets the mail server, starts TLS and signs in, as a message would; sends one only `to` a given address.
 */
export async function checkMail(env: Env, to: string | null): Promise<CheckResult[]> {
  const { SMTP_URL: url, SMTP_FROM: from } = env;
  if (url === undefined || from === undefined)
    return [untried(name, "SMTP_URL is not set: no e-mail is sent")];
  try {
    const isSealed = await signIn(env, url);
    const { host } = new URL(url);
    const message = isSealed ? `${host} takes the sign-in under TLS` : `${host} takes the sign-in`;
    if (to !== null) return [await sendTo(to, env, message)];
    if (isSealed || isLoopbackHost(url)) return [passed(name, `${message}; no message was sent`)];
    return [
      warned(
        name,
        `${message}, without TLS: what is sent can be read on the way; use a server with STARTTLS`,
      ),
    ];
  } catch (error) {
    return [mailFailed(new URL(url).host, error)];
  }
}

const isLoopbackHost = (url: string) => /^(127\.|localhost$|\[::1\]$)/.test(new URL(url).hostname);

/** Signs in, under TLS where the server has it, and says whether it has. */
async function signIn(env: Env, url: string): Promise<boolean> {
  for (const requireTLS of [true, false]) {
    const transport = await openMail(env, requireTLS);
    try {
      await transport.verify();
      return requireTLS;
    } catch (error) {
      if (!requireTLS || codeOf(error) !== "ETLS" || new URL(url).protocol === "smtps:") throw error;
    } finally {
      transport.close();
    }
  }
  return false;
}

async function openMail(env: Env, requireTLS: boolean) {
  const { openTransport } = await import("../deliveries/index.ts");
  return openTransport(env, { connectMs: stepMs, stepMs, requireTLS });
}

async function sendTo(to: string, env: Env, message: string) {
  const transport = await openMail(env, false);
  try {
    const mail = {
      from: env.SMTP_FROM,
      to,
      subject: "Atelier: a test",
      text: "This is a test of `atelier doctor`.\n",
    };
    const { response } = await transport.sendMail(mail);
    return { ...passed(name, `${message} and a message to ${to}`), said: response };
  } finally {
    transport.close();
  }
}

const adviceByCode: Readonly<Record<string, string>> = {
  EAUTH: "correct the name and password of SMTP_URL; some providers want a password for programs",
  ETLS: "use smtps:// with port 465, or smtp:// with port 587",
  EENVELOPE: "correct SMTP_FROM: the server must allow this sender",
};

function read(error: unknown, field: string): unknown {
  return error instanceof Error ? Object.entries(error).find(([key]) => key === field)?.[1] : undefined;
}

const codeOf = (error: unknown) => String(read(error, "code"));

function mailFailed(host: string, error: unknown): CheckResult {
  const response = read(error, "response");
  const advice = adviceByCode[codeOf(error)] ?? "correct the host, port and scheme of SMTP_URL";
  const isRefused = codeOf(error) === "EAUTH";
  return {
    ...failed(
      name,
      isRefused ? `${host} refuses the sign-in; ${advice}` : `${host} cannot be used; ${advice}`,
    ),
    ...(typeof response === "string" ? { said: response } : { noAnswer: explain(error) }),
  };
}
