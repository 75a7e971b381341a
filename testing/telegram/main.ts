import { readFile } from "node:fs/promises";
import path from "node:path";
import { createInterface } from "node:readline";
import { startBotApi } from "./index.ts";

const port = 18_790;
const sample = path.join(import.meta.dirname, "../../public/samples/coffee.png");

const say = (line: string) => void process.stdout.write(`${line}\n`);

/** A simulated bot for trying the studio by hand: what is typed is said by a person, and what the bot shows is printed. */
const api = await startBotApi({
  port,
  onShow({ id, kind, text, buttons, editedAtMs }) {
    const mark = kind === "text" ? "" : `[${kind}] `;
    const labels = buttons.map((button) => `[${button.text}]`).join(" ");
    say(`bot #${id}${editedAtMs.length > 0 ? " (edited)" : ""}: ${mark}${text} ${labels}`);
  },
});
const person = api.person();
say("SIMULATED Telegram; put these lines into .env:\n");
for (const [name, value] of Object.entries(api.env)) say(`${name}=${value}`);
say(
  "\nType text for the bot: /start <code of the link>, /status. !photo [caption] sends a picture, !two sends two,",
);
say("!press <label> presses a button, !block blocks the bot. Ctrl-C ends it.");

async function run(line: string): Promise<void> {
  const [, verb = "", rest = ""] = /^!(\w+)\s*(.*)$/.exec(line) ?? [];
  const photo = () => readFile(sample);
  if (verb === "photo") person.sendPhotos([await photo()], rest === "" ? {} : { caption: rest });
  else if (verb === "two") person.sendPhotos([await photo(), await photo()]);
  else if (verb === "press") person.press(rest);
  else if (verb === "block") person.block();
  else person.say(line);
}

for await (const line of createInterface({ input: process.stdin }))
  if (line.trim() !== "") await run(line.trim()).catch((error: unknown) => say(String(error)));
