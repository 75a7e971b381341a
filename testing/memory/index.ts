import type { ForeignMessage } from "@atelier/server/assistant";
export { type AskedTalk, makeAnswers, type TalkQuestion } from "./answers.ts";

/** A fact about one subject as it was last stated, with all its statements, oldest first. */
export interface ToldFact {
  readonly subject: string;
  readonly question: string;
  readonly statementIds: readonly string[];
  /** The last of them. */
  readonly currentId: string;
  /** A word that only the current statement of this user has. */
  readonly value: string;
}

export interface ToldTalks {
  readonly messages: readonly ForeignMessage[];
  readonly facts: readonly ToldFact[];
  /** Questions about what was never said. */
  readonly absent: readonly string[];
}

const subjects = [
  ["dress size", "What is my dress size?"],
  ["shoe size", "Which shoe size do I have?"],
  ["favourite fabric", "What fabric do I like best?"],
  ["portrait background", "What background do I want for portraits?"],
  ["poster ratio", "Which ratio do my posters have?"],
  ["spring collection", "What is the spring collection called?"],
  ["studio lamp", "Which lamp do I use in the studio?"],
  ["model for lookbooks", "Who is the model for my lookbooks?"],
  ["catalogue deadline", "When is the deadline of the catalogue?"],
  ["upscale factor", "By what factor do I upscale?"],
  ["negative prompt", "What do I write into the negative prompt?"],
  ["logo colour", "Which colour has my logo?"],
  ["lens style", "What lens style do I prefer?"],
  ["coat length", "How long do I want coats?"],
  ["hat shape", "Which shape of hats do I like?"],
  ["belt buckle", "What buckle goes on my belts?"],
  ["sleeve cut", "How are my sleeves cut?"],
  ["collar type", "Which type of collar do I use?"],
  ["button material", "What are my buttons made of?"],
  ["zip finish", "What finish do my zips have?"],
  ["lining pattern", "Which pattern has my lining?"],
  ["pocket count", "How many pockets do I put on?"],
  ["scarf print", "What print do my scarves have?"],
  ["glove leather", "Which leather do I take for gloves?"],
  ["runway music", "What music plays on my runway?"],
  ["grain strength", "How strong do I want the grain?"],
  ["sketch paper", "On which paper do I sketch?"],
  ["tailor", "Who is my tailor?"],
  ["newsletter day", "On which day do I send the newsletter?"],
  ["watermark corner", "In which corner is my watermark?"],
] as const;

const absent = [
  "Which umbrella did I lend out?",
  "What is the name of my dentist?",
  "Where did I park the bicycle?",
  "How many goldfish live in my pond?",
  "What did the plumber charge?",
  "Which train goes to Lisbon?",
  "What is my blood group?",
  "Who won the chess tournament?",
  "Which island did we sail to?",
  "How old is my cousin?",
];

const fillers = [
  "Let us look at yesterday's pictures again.",
  "The light was too hard this morning.",
  "Please make it a little warmer.",
  "I will upload some more photos later.",
  "That one is nice, keep it.",
  "Can we try it without the frame?",
  "It rained all day, so no photos outside.",
  "The client was happy with the last series.",
];

type Say = (subject: string, value: string, before: string | null) => string;

/** How a fact is stated the first time, and how a change of it. */
const firstWords: readonly Say[] = [
  (subject, value) => `My ${subject} is ${value}.`,
  (subject, value) => `For the record, ${value} is my ${subject}.`,
  (subject, value) => `I decided on the ${subject}: ${value}.`,
];
const changeWords: readonly Say[] = [
  (subject, value) => `My ${subject} is ${value} now.`,
  (subject, value, before) => `Not ${before} any more: the ${subject} is ${value}.`,
  (subject, value) => `I changed the ${subject} to ${value}.`,
  (subject, value, before) => `Forget ${before}, my ${subject} is ${value} from today.`,
];

const dayMs = 86_400_000;
const start = Date.UTC(2025, 0, 6, 9);
const linesPerTalk = 5;

function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** A made-up word that is no other's. */
const wordOf = (seed: number, at: number) => `val${(seed * 1_000 + at).toString(36)}q`;

interface Statement {
  readonly text: string;
  readonly fact: number;
  readonly value: string;
}

/** Each subject is told once and changed up to three times, in this order, spread over the talks. */
function makeStatements(seed: number, random: () => number): Statement[] {
  let words = 0;
  const told = subjects.map(([subject], fact) => {
    let before: string | null = null;
    return Array.from({ length: 1 + Math.floor(random() * 4) }, (): Statement => {
      const value = wordOf(seed, (words += 1));
      const ways = before === null ? firstWords : changeWords;
      const say = ways[Math.floor(random() * ways.length)];
      const text = say?.(subject, value, before) ?? "";
      before = value;
      return { text, fact, value };
    });
  });
  const queues = told.map((list) => [...list]);
  const order: Statement[] = [];
  while (queues.some(({ length }) => length > 0)) {
    const open = queues.filter(({ length }) => length > 0);
    const next = open[Math.floor(random() * open.length)]?.shift();
    if (next) order.push(next);
  }
  return order;
}

/**
 * Talks of one user about outfits, styles, prompts and sizes, made by code (M2): facts that change, negations that name
 * the old value, and lines about nothing. Another seed gives the same subjects with other values.
 */
export function makeTalks({ seed, talks }: { readonly seed: number; readonly talks: number }): ToldTalks {
  const random = createRandom(seed);
  const statements = makeStatements(seed, random);
  const messages: ForeignMessage[] = [];
  const ids = subjects.map((): string[] => []);
  const values = subjects.map(() => "");
  for (let talk = 0; talk < talks; talk += 1) {
    const from = Math.floor((talk * statements.length) / talks);
    const until = Math.floor(((talk + 1) * statements.length) / talks);
    const said = statements.slice(from, until);
    for (let line = 0; line < Math.max(linesPerTalk, said.length); line += 1) {
      const statement = said[line];
      const id = `${seed}-${talk}-${line}`;
      const filler = fillers[Math.floor(random() * fillers.length)] ?? "";
      const at = new Date(start + talk * dayMs + line * 60_000);
      messages.push({
        session: `talk ${seed}-${talk}`,
        id,
        at,
        speaker: "Me",
        text: statement?.text ?? filler,
      });
      if (!statement) continue;
      ids[statement.fact]?.push(id);
      values[statement.fact] = statement.value;
    }
  }
  const facts = subjects.map(([subject, question], at): ToldFact => {
    const statementIds = ids[at] ?? [];
    return { subject, question, statementIds, currentId: statementIds.at(-1) ?? "", value: values[at] ?? "" };
  });
  return { messages, facts, absent };
}
