import { Fragment, type ReactNode } from "react";
import type { QuestionView } from "@atelier/server/assistant";

export interface Piece {
  readonly text: string;
  readonly part: QuestionView["parts"][number] | null;
}

/** The words of an answer, cut where its pictures and proposals belong. */
export function piecesOf(answer: string, parts: QuestionView["parts"]): readonly Piece[] {
  const ordered = parts.toSorted((a, b) => a.at - b.at);
  const pieces = ordered.map((part, index): Piece => {
    const from = ordered[index - 1]?.at ?? 0;
    return { text: answer.slice(from, part.at), part };
  });
  return [...pieces, { text: answer.slice(ordered.at(-1)?.at ?? 0), part: null }];
}

interface List {
  readonly isOrdered: boolean;
  readonly items: string[];
}

type Block = { readonly text: string } | List;

const bullet = /^\s*[-*•]\s+(.*)$/;
const numbered = /^\s*\d{1,3}[.)]\s+(.*)$/;

/** Adds a line to the blocks: to the list before it, as a paragraph, or as another line of the paragraph. */
function withLine(blocks: readonly Block[], line: string): Block[] {
  const last = blocks.at(-1);
  const [, item] = bullet.exec(line) ?? numbered.exec(line) ?? [];
  if (item !== undefined) {
    const isOrdered = numbered.test(line);
    if (last && "items" in last && last.isOrdered === isOrdered)
      return [...blocks.slice(0, -1), { isOrdered, items: [...last.items, item] }];
    return [...blocks, { isOrdered, items: [item] }];
  }
  const text = line.replace(/^#{1,6}\s+/, "").trimEnd();
  if (text === "" || !last || "items" in last || last.text === "") return [...blocks, { text }];
  return [...blocks.slice(0, -1), { text: `${last.text}\n${text}` }];
}

/** Paragraphs and lists of an answer. Anything else, such as a link or a picture, stays the text that it is. */
function blocksOf(answer: string): readonly Block[] {
  return answer
    .split("\n")
    .reduce<readonly Block[]>(withLine, [])
    .filter((block) => "items" in block || block.text !== "");
}

/** Words between two asterisks are strong; nothing else has a meaning. */
function inline(text: string): ReactNode {
  return text
    .split(/\*\*(?=\S)(.+?)(?<=\S)\*\*/g)
    .map((part, index) => (
      <Fragment key={index}>{index % 2 === 1 ? <strong>{part}</strong> : part}</Fragment>
    ));
}

/**
 * The words of the assistant. They may repeat what an attacker wrote into a picture's name, so nothing of them becomes a
 * link, a picture or HTML.
 */
export function AnswerText({ text }: { readonly text: string }) {
  return (
    <div className="flex flex-col gap-3 leading-relaxed">
      {blocksOf(text).map((block, index) => {
        if (!("items" in block))
          return (
            <p key={index} className="break-words whitespace-pre-wrap">
              {inline(block.text)}
            </p>
          );
        const List = block.isOrdered ? "ol" : "ul";
        return (
          <List
            key={index}
            className={block.isOrdered ? "list-decimal space-y-1 ps-5" : "list-disc space-y-1 ps-5"}
          >
            {block.items.map((item, at) => (
              <li key={at} className="break-words">
                {inline(item)}
              </li>
            ))}
          </List>
        );
      })}
    </div>
  );
}
