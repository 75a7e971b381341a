import type { ForeignMessage } from "@atelier/server/assistant";
// What is asked in a talk, what each of three people answers in words of their own, and what is asked later of `{name}`.
import languages from "./answers.json" with { type: "json" };

/** A question to the memory, with the ids of the messages that answer it. */
export interface TalkQuestion {
  readonly text: string;
  readonly evidence: readonly string[];
}

/** What one user remembers, and what it is asked. */
export interface AskedTalk {
  readonly name: string;
  readonly messages: readonly ForeignMessage[];
  readonly questions: readonly TalkQuestion[];
}

const start = Date.UTC(2025, 2, 3, 18);
const dayMs = 86_400_000;
const minuteMs = 60_000;
/** Talks without a topic between those with one. */
const quietTalks = 3;

/**
 * Talks in which the words of a question stand in what another person asked and the answer in the reply beside it, which says
 * none of them: one user for each of eight languages, fifteen questions each. Another person gives another reply to the same.
 */
export function makeAnswers(): AskedTalk[] {
  return Object.entries(languages).map(([name, language]) => {
    const messages: ForeignMessage[] = [];
    const questions: TalkQuestion[] = [];
    let talk = 0;
    const say = (lines: readonly (readonly [speaker: string, text: string])[]) => {
      talk += 1;
      return lines.map(([speaker, text], at) => {
        const id = `${name}-${talk}-${at}`;
        messages.push({
          session: `${name} ${talk}`,
          id,
          at: new Date(start + talk * dayMs + at * minuteMs),
          speaker,
          text,
        });
        return id;
      });
    };
    const filler = (at: number) => language.fillers[at % language.fillers.length] ?? "";
    for (const [person, who] of language.names.entries())
      for (const [number, { asked, answers, later }] of language.topics.entries()) {
        const [, , id = ""] = say([
          [who, filler(number)],
          [language.host, asked],
          [who, answers[person] ?? ""],
          [language.host, filler(number + 1)],
          [who, filler(number + 2)],
        ]);
        questions.push({ text: later.replace("{name}", () => who), evidence: [id] });
        for (let quiet = 0; quiet < quietTalks; quiet += 1)
          say(
            Array.from(
              { length: 5 },
              (_, at) => [at % 2 === 0 ? who : language.host, filler(at + quiet)] as const,
            ),
          );
      }
    return { name, messages, questions };
  });
}
