import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { z } from "zod";
import type { AskedTalk, TalkQuestion } from "@atelier/testing/memory";

type Message = AskedTalk["messages"][number];

const turnSchema = z.object({
  dia_id: z.string(),
  speaker: z.string(),
  text: z.string().optional(),
  clean_text: z.string().optional(),
  date_time: z.string().optional(),
});
const askedSchema = z.array(
  z.object({
    question: z.coerce.string(),
    evidence: z.array(z.string()).default([]),
    category: z.number().optional(),
  }),
);
/** Questions of LoCoMo about what the other of the two did: nothing answers them. */
const adversarial = 5;

const secondMs = 1_000;
const dayMs = 86_400_000;
const epoch = Date.UTC(2023, 0, 1);

/** `29.12.2023, 22:42:04`, or `1:56 pm on 8 May, 2023`; else the day of its number. */
function readTime(text: string | undefined, number: number): number {
  const [, day, month, year, clock] = /^(\d+)\.(\d+)\.(\d+), (\S+)$/.exec(text?.trim() ?? "") ?? [];
  if (clock !== undefined) return Date.parse(`${year}-${month}-${day}T${clock}Z`);
  const [, time, date] = /^(.+) on (.+)$/.exec(text ?? "") ?? [];
  const at = Date.parse(`${date} ${time} UTC`);
  return Number.isNaN(at) ? epoch + number * dayMs : at;
}

/** A talk of LoCoMo or of REALTALK, which has the same form: `session_1` and so on with turns, and `qa`. */
function readSessions(name: string, file: Record<string, unknown>): AskedTalk {
  const sessions = Object.keys(file).filter((key) => /^session_\d+$/.test(key));
  const messages = sessions.flatMap((session, number) => {
    const began = readTime(z.string().optional().parse(file[`${session}_date_time`]), number);
    const turns = z.array(turnSchema).parse(file[session]);
    return turns.map(({ dia_id: id, speaker, text, clean_text: clean, date_time: time }, at): Message => {
      const when = time === undefined ? began + 30 * at * secondMs : readTime(time, number);
      return { session, id, at: new Date(when), speaker, text: clean ?? text ?? "" };
    });
  });
  const questions = askedSchema
    .parse(file["qa"])
    .filter(({ category }) => category !== adversarial)
    .map(({ question, evidence }): TalkQuestion => ({
      text: question,
      evidence: evidence.flatMap((each) => each.match(/D\d+:\d+/g) ?? []),
    }));
  return { name, messages, questions };
}

const friendsSchema = z.object({
  data: z.array(
    z.object({
      title: z.string(),
      paragraphs: z.tuple([
        z.object({
          "utterances:": z.array(
            z.object({ uid: z.number(), speakers: z.array(z.string()), utterance: z.string() }),
          ),
          qas: z.array(
            z.object({ question: z.string(), answers: z.array(z.object({ utterance_id: z.number() })) }),
          ),
        }),
      ]),
    }),
  ),
});
const usersOfFriends = 4;

/** FriendsQA: scenes in their order, a quarter of a file for each of four users. */
function readFriends(name: string, file: unknown): AskedTalk[] {
  const scenes = friendsSchema.parse(file).data.toSorted((a, b) => (a.title < b.title ? -1 : 1));
  const perUser = Math.ceil(scenes.length / usersOfFriends);
  return Array.from({ length: usersOfFriends }, (_, user) => {
    const own = scenes.slice(user * perUser, (user + 1) * perUser);
    const messages = own.flatMap(({ title, paragraphs: [scene] }, number) =>
      scene["utterances:"].map(({ uid, speakers, utterance }): Message => ({
        session: title,
        id: `${title}:${uid}`,
        at: new Date(epoch + number * dayMs + 20 * uid * secondMs),
        speaker: speakers.join(" & "),
        text: utterance,
      })),
    );
    const questions = own.flatMap(({ title, paragraphs: [scene] }) =>
      scene.qas.map(({ question, answers }): TalkQuestion => ({
        text: question,
        evidence: answers.map(({ utterance_id: uid }) => `${title}:${uid}`),
      })),
    );
    return { name: `${name} ${user}`, messages, questions };
  });
}

/** A public set by the name of its folder: files as their authors publish them. */
async function readSet(folder: string): Promise<AskedTalk[]> {
  const files = (await readdir(folder)).filter((file) => file.endsWith(".json")).toSorted();
  const talks: AskedTalk[] = [];
  for (const file of files) {
    const content: unknown = JSON.parse(await readFile(path.join(folder, file), "utf8"));
    if (z.object({ data: z.array(z.unknown()) }).safeParse(content).success)
      talks.push(...readFriends(file, content));
    else talks.push(readSessions(file, z.record(z.string(), z.unknown()).parse(content)));
  }
  return talks.map(({ messages, questions, name }) => {
    const said = messages.filter(({ text }) => text.trim() !== "");
    const ids = new Set(said.map(({ id }) => id));
    const kept = questions.map(({ text, evidence }) => ({
      text,
      evidence: evidence.filter((id) => ids.has(id)),
    }));
    // A question whose evidence the file does not have measures nothing.
    return { name, messages: said, questions: kept.filter(({ evidence }) => evidence.length > 0) };
  });
}

/** Kinds of talk by name, one for each folder of `folder`: LoCoMo, REALTALK and FriendsQA as they are published. */
export async function readPublicTalks(folder: string): Promise<[string, AskedTalk[]][]> {
  const entries = await readdir(folder, { withFileTypes: true });
  const names = entries.filter((entry) => entry.isDirectory()).map(({ name }) => name);
  const kinds: [string, AskedTalk[]][] = [];
  for (const name of names.toSorted()) kinds.push([name, await readSet(path.join(folder, name))]);
  return kinds;
}
