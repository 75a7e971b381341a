/** A piece of what a model writes. */
export interface Piece {
  readonly type: "answer" | "thinking";
  readonly text: string;
}

/** Parts an answer from the thinking that models write before and between its words. */
export interface ThinkingSplitter {
  /** The pieces that are sure now. */
  add(text: string): Piece[];
  /** The rest. */
  end(): Piece[];
}

const names = "think(?:ing)?|thoughts?|reason(?:ing)?|reflection|scratchpad|analysis";
const openings = [
  `<(?:\\w+:)?(?:${names})(?:\\s[^<>]*)?>`,
  "\\[THINK\\]",
  "◁think▷",
  "<\\|(?:START_THINKING|begin_of_thought)\\|>",
  "<\\|channel>\\s*thought\\s",
];
const closings = [
  `</(?:\\w+:)?(?:${names})\\s*>`,
  "\\[/THINK\\]",
  "◁/think▷",
  "<\\|(?:END_THINKING|end_of_thought)\\|>",
  "<channel\\|>",
];
/** Each mark at which thinking begins or, as its group `closing`, ends. */
export const thinkingMarks = new RegExp(`${openings.join("|")}|(?<closing>${closings.join("|")})`, "gi");
/** Marks of the harmony format: a channel begins, a message ends. Without its marks the final channel begins with this word. */
const harmony = [
  "<\\|channel\\|>[^<]*(?:<\\|constrain\\|>[^<]*)?<\\|message\\|>",
  "<\\|start\\|>[^<]*",
  "<\\|(?:end|return|call)\\|>",
];
const mark = new RegExp(
  `(?<opening>${openings.join("|")})|(?<closing>${closings.join("|")})|(?<harmony>${harmony.join("|")})`,
  "i",
);
const bareFinal = /assistant\s?final(?=\S|\s)/;
const bareAnalysis = /^\s*analysis(?=\S|\s)/;

/** The longest mark; a text that may be the beginning of one waits for the rest. */
const longestMark = 120;
const mayBegin = /(?:<[^<>\n]*(?:<\|constrain\|>[^<\n]*)?|<\|[^<\n]*(?:<\|[^<\n]*)?|\[\/?[A-Z]*|◁[^▷]*)$/;

/**
 * Pieces come in the order of the text. A closing mark without an opening one means that all before it was thinking, since
 * some servers keep the opening mark for themselves: `onRethink` is then told to take back the answer so far.
 */
export function splitThinking(onRethink: () => void): ThinkingSplitter {
  let waiting = "";
  let isThinking = false;
  /** What was given out as the answer, while a closing mark could still change that. */
  let answered = "";

  const pieceOf = (text: string): Piece[] => {
    if (text === "") return [];
    if (isThinking) return [{ type: "thinking", text }];
    answered += text;
    return [{ type: "answer", text }];
  };
  const rethink = (text: string): Piece[] => {
    onRethink();
    const thought = answered + text;
    answered = "";
    return thought === "" ? [] : [{ type: "thinking", text: thought }];
  };
  /** In quotes of code a mark is a word like any other. */
  const isQuoted = (before: string) => !isThinking && (before === "" ? answered : before).endsWith("`");
  const onOpening = (before: string): Piece[] => {
    const pieces = pieceOf(before);
    isThinking = true;
    return pieces;
  };
  const onClosing = (before: string): Piece[] => {
    const pieces = isThinking ? pieceOf(before) : rethink(before);
    isThinking = false;
    answered = "";
    return pieces;
  };
  const onToken = (before: string, token: string): Piece[] => {
    const pieces = pieceOf(before);
    if (/^<\|channel\|>/i.test(token)) isThinking = !/^<\|channel\|>\s*final\b/i.test(token);
    else if (/^<\|start\|>/i.test(token)) isThinking = true;
    return pieces;
  };
  const onMark = (before: string, { groups = {} }: RegExpExecArray): Piece[] => {
    const { opening, closing, harmony: token = "" } = groups;
    const tag = opening ?? closing;
    if (tag === undefined) return onToken(before, token);
    if (isQuoted(before)) return pieceOf(before + tag);
    return opening === undefined ? onClosing(before) : onOpening(before);
  };
  const take = (): Piece[] => {
    const pieces: Piece[] = [];
    for (let found = mark.exec(waiting); found; found = mark.exec(waiting)) {
      // The name of a speaker may go on in the next chunk.
      if (/^<\|start\|>/i.test(found[0]) && found.index + found[0].length === waiting.length) break;
      const before = waiting.slice(0, found.index);
      waiting = waiting.slice(found.index + found[0].length);
      pieces.push(...onMark(before, found));
    }
    return pieces;
  };
  return {
    add(text) {
      waiting += text;
      const pieces = take();
      if (!isThinking && bareAnalysis.test(answered + waiting)) {
        const final = bareFinal.exec(waiting);
        if (!final) return pieces;
        pieces.push(...rethink(waiting.slice(0, final.index).replace(bareAnalysis, "")));
        waiting = waiting.slice(final.index + final[0].length);
      }
      const start = mayBegin.exec(waiting);
      const isOpen = start !== null && waiting.length - start.index <= longestMark;
      const sure = isOpen ? waiting.slice(0, start.index) : waiting;
      waiting = waiting.slice(sure.length);
      return [...pieces, ...pieceOf(sure)];
    },
    end() {
      const rest = waiting;
      waiting = "";
      return pieceOf(/^<\|(?:start|channel|end|return|call)/i.test(rest) ? "" : rest);
    },
  };
}
