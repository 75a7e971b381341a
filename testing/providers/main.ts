import { parseArgs } from "node:util";
import { providerNames } from "@atelier/server/providers";
import { startMailServer, startWebhookReceiver, type WebhookFault } from "../deliveries/index.ts";
import { startProviders } from "./index.ts";

const { values } = parseArgs({ options: { port: { type: "string", default: "18700" } } });
/** Each provider has the next one, then come the mail server and the receiver of webhooks. */
const firstPort = Number(values.port);

const say = (line: string) => void process.stdout.write(`${line}\n`);

/** Simulated providers for trying the studio by hand: no picture is made and nothing is charged. */
const { env, simulators } = await startProviders(providerNames, { firstPort });
for (const simulator of Object.values(simulators)) simulator.runMs = 4_000;

const mail = await startMailServer({
  port: firstPort + providerNames.length,
  onMail: ({ to, raw }) => say(`mail to ${to.join(", ")}: ${/^subject: *(.*)$/im.exec(raw)?.[1] ?? ""}`),
});

const receiver = await startWebhookReceiver({
  port: firstPort + providerNames.length + 1,
  onReceived: ({ path, id, body }) => say(`webhook ${id} to ${path}: ${body}`),
});

/** Addresses of the receiver that always do this. */
const faults: Readonly<Record<string, WebhookFault>> = {
  "/error": { kind: "status", status: 500 },
  "/later": { kind: "status", status: 429, headers: { "retry-after": "30" } },
  "/gone": { kind: "status", status: 410 },
  "/redirect": { kind: "status", status: 302, headers: { location: "/" } },
  "/reset": { kind: "reset" },
  "/hang": { kind: "hang" },
  "/slow": { kind: "slow" },
};
for (const [path, fault] of Object.entries(faults)) receiver.inject(path, [fault], { isForever: true });

say("SIMULATED providers and a SIMULATED mail server; put these lines into .env:\n");
for (const [name, value] of Object.entries(env)) say(`${name}=${value}`);
say(`SMTP_URL=${mail.url}`);
say("SMTP_FROM=Atelier <atelier@example.org>");
say("# For webhooks to this machine:");
say("ALLOWED_PRIVATE_HOSTS=127.0.0.1");
say(`\nA receiver of webhooks takes what comes to ${receiver.url}/hook and tells it here;`);
say(`other paths fail: ${Object.keys(faults).join(", ")}. Ctrl-C ends all.`);
