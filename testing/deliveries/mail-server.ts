import type { AddressInfo } from "node:net";
import { SMTPServer } from "smtp-server";

export interface ReceivedMail {
  readonly to: readonly string[];
  /** How the sender named itself. */
  readonly greeted: string;
  /** With its headers; lines that were broken for the way are whole again. */
  readonly raw: string;
}

export interface MailServer {
  /** For `SMTP_URL`. */
  readonly url: string;
  readonly received: readonly ReceivedMail[];
  /** The next message is answered so; `sender`: before a reader is named. */
  refuseNext(code: number, message: string, at?: "sender"): void;
  close(): Promise<void>;
}

export interface MailServerOptions {
  readonly user?: string;
  readonly password?: string;
  /** Any that is free by default. */
  readonly port?: number;
  onMail?(mail: ReceivedMail): void;
}

/** Starts a mail server without TLS that keeps all messages. With a user it asks for the password. */
export async function startMailServer(options: MailServerOptions = {}): Promise<MailServer> {
  const { user, password } = options;
  const received: ReceivedMail[] = [];
  const refusals: Error[] = [];
  const senderRefusals: Error[] = [];
  const server = new SMTPServer({
    disabledCommands: ["STARTTLS", ...(user === undefined ? ["AUTH"] : [])],
    authOptional: user === undefined,
    allowInsecureAuth: true,
    onAuth: (auth, _session, callback) =>
      auth.username === user && auth.password === password
        ? callback(null, { user })
        : callback(new Error("wrong password")),
    onMailFrom: (_address, _session, callback) => callback(senderRefusals.shift()),
    onData(stream, session, callback) {
      const chunks: Buffer[] = [];
      stream.on("data", (chunk: Buffer) => chunks.push(chunk));
      stream.on("end", () => {
        const refusal = refusals.shift();
        const to = session.envelope.rcptTo.map(({ address }) => address);
        const raw = Buffer.concat(chunks).toString("utf8");
        const mail = { to, greeted: session.hostNameAppearsAs, raw: raw.replaceAll("=\r\n", "") };
        if (!refusal) {
          received.push(mail);
          options.onMail?.(mail);
        }
        callback(refusal ?? null);
      });
    },
  });
  await new Promise<void>((resolve) => server.listen(options.port ?? 0, "127.0.0.1", () => resolve()));
  const { port } = server.server.address() as AddressInfo;
  const login = user === undefined ? "" : `${user}:${password}@`;
  return {
    url: `smtp://${login}127.0.0.1:${port}`,
    received,
    refuseNext(code, message, at) {
      (at === "sender" ? senderRefusals : refusals).push(
        Object.assign(new Error(message), { responseCode: code }),
      );
    },
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}
