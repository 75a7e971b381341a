import { api } from "../client/api.ts";
import { saveFile } from "../client/save.ts";
import { piecesOf } from "./answer-text.tsx";
import { type Conversation, mostTurns } from "./conversation.ts";

/** What the file says in the words of its reader. */
interface FileWords {
  readonly untitled: string;
  /** Turns before the first one are not in the file. */
  readonly earlier: string;
  readonly picture: (number: number) => string;
  readonly time: (iso: string) => string;
}

/** Reads a conversation and has the browser save it as Markdown. */
export async function saveTalk(id: string, words: FileWords): Promise<void> {
  const talk = await api.assistant.conversation.query({ id, turns: mostTurns });
  const text = markdownOf(talk, words, window.location.origin);
  const url = URL.createObjectURL(new Blob([text], { type: "text/markdown" }));
  saveFile(url, fileNameOf(talk.title || words.untitled));
  URL.revokeObjectURL(url);
}

const longestName = 80;

/** Without what some system does not take in the name of a file. */
export function fileNameOf(title: string): string {
  const name = Array.from(title.replaceAll(/[\\/:*?"<>|\p{Cc}]+/gu, " "))
    .slice(0, longestName)
    .join("")
    .replaceAll(/\s+/gu, " ")
    .replace(/^[ .]+|[ .]+$/gu, "");
  return `${name || "talk"}.md`;
}

const quoted = (text: string) => text.replaceAll(/^/gm, "> ");
/** A line of text as it is: Markdown's own signs in it are escaped. */
const escaped = (line: string) => line.replaceAll(/[\\`*_[\]<>#]/g, "\\$&");

/** Questions as quotations, answers as they were written, with times; pictures are links to the studio. */
export function markdownOf(talk: Conversation, words: FileWords, origin: string): string {
  let pictures = 0;
  const linksOf = (ids: readonly string[]) =>
    ids.map((id) => `[${words.picture((pictures += 1))}](${origin}/gallery?image=${id})`).join(" ");
  const blocks = talk.turns.flatMap(({ question, pictures: given, answer, askedAt, run }) => [
    `## ${words.time(askedAt)}`,
    quoted(question),
    linksOf(given.map(({ id }) => id)),
    ...piecesOf(answer, run?.parts ?? []).flatMap(({ text, part }) => [
      text.trim(),
      part?.type === "images" ? linksOf(part.imageIds) : "",
      part?.type === "proposal" ? titleOfProposal(run?.proposals ?? [], part.proposalId) : "",
    ]),
    run?.error ? `*${escaped(run.error.message)}*` : "",
  ]);
  const head = [`# ${escaped(talk.title || words.untitled)}`, talk.hasEarlier ? `*${words.earlier}*` : ""];
  return `${[...head, ...blocks].filter((block) => block !== "").join("\n\n")}\n`;
}

function titleOfProposal(proposals: readonly { id: string; title: string }[], id: string): string {
  const title = proposals.find((proposal) => proposal.id === id)?.title ?? "";
  return title === "" ? "" : `- ${escaped(title)}`;
}
