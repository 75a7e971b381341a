import type { InputFacts } from "./object-info.ts";

const shownChoices = 5;

/** Whether a value is in the list; files that people upload come and go, so they are not looked for. */
export function findChoiceProblem({ choices, isUpload }: InputFacts, value: unknown): string | null {
  if (!choices || isUpload || choices.includes(String(value))) return null;
  if (choices.length === 0) return `is ${JSON.stringify(value)}, but the server has nothing to choose from`;
  const shown = choices.slice(0, shownChoices).join(", ");
  const rest = choices.length > shownChoices ? ` and ${choices.length - shownChoices} more` : "";
  return `is ${JSON.stringify(value)}, which is none of ${shown}${rest}`;
}

function findRangeProblem({ min, max }: InputFacts, value: number): string | null {
  if (min !== null && value < min) return `is ${value}, below the least ${min}`;
  if (max !== null && value > max) return `is ${value}, above the most ${max}`;
  return null;
}

/** Types that only a node can make; those of custom nodes are not known and pass. */
const linkedTypes = ["IMAGE", "MASK", "LATENT", "MODEL", "CLIP", "VAE", "CONDITIONING"];

/** Whether a literal fits the type of an input that is no list. */
export function findTypeProblem(facts: InputFacts, value: unknown): string | null {
  if (linkedTypes.includes(facts.type)) return `takes ${facts.type} and must be linked`;
  if (facts.type === "STRING") return typeof value === "object" ? "is no text" : null;
  if (facts.type !== "INT" && facts.type !== "FLOAT") return null;
  if (typeof value === "boolean" || !Number.isFinite(Number(value))) return "is no number";
  return findRangeProblem(facts, Number(value));
}
