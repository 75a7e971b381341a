/** Counts the tokens of a text. Other vendors cut texts differently by some percent; budgets leave that much room. */
export type CountTokens = (text: string) => number;

/** The table takes quadratic time for a run without a blank. What a cut between pieces adds is far below one percent. */
const pieceCharacters = 1_000;

let counting: Promise<CountTokens> | undefined;

/** Loads the token table of newer OpenAI models, which takes memory, so only with the first count. */
export function loadTokenCounter(): Promise<CountTokens> {
  counting ??= import("gpt-tokenizer/encoding/o200k_base").then(({ countTokens }) => (text) => {
    let tokens = 0;
    for (let at = 0; at < text.length; at += pieceCharacters)
      // Marks of models in a text of a user are a text like any other.
      tokens += countTokens(text.slice(at, at + pieceCharacters), { disallowedSpecial: new Set() });
    return tokens;
  });
  return counting;
}

/** The longest beginning of a text within a number of tokens, cut at a word and marked; "" when not even a few fit. */
export function cutToTokens(count: CountTokens, text: string, maxTokens: number): string {
  if (count(text) <= maxTokens) return text;
  if (maxTokens < 8) return "";
  let [low, high] = [0, text.length];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (count(`${text.slice(0, middle)} …`) <= maxTokens) low = middle;
    else high = middle - 1;
  }
  const cut = text.slice(0, low).toWellFormed();
  const end = cut.lastIndexOf(" ");
  return `${(end > low / 2 ? cut.slice(0, end) : cut).trimEnd()} …`;
}
