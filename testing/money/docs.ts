import {
  bought,
  boughtAlone,
  caps,
  type Line,
  lines,
  policies,
  priceUsd,
  type State,
  states,
  wishes,
} from "./expected.ts";

const wishTexts = {
  home: "own, $0",
  waits: "waits for it, $0",
  buy: "**provider**",
  refused: "refused: nothing can do it",
} as const;

const capTexts = {
  free: "caps not reached",
  user: "the user's cap reached",
  studio: "the studio's cap reached",
};

type Outcome = (typeof bought)[State][(typeof caps)[number]];

function textOf({ runs, priceUsd: price }: Outcome): string {
  if (runs === "home") return "own line, $0";
  if (runs === "nobody") return "402, nothing is made";
  return price === null ? "needs the user's own maximum" : `provider, $${priceUsd}`;
}

const row = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
const head = (cells: readonly string[]) => [row(cells), row(cells.map(() => "---"))];

/** The money table as docs/providers.md has it. */
export function moneyTable(): string {
  const lineNames = Object.keys(lines) as Line[];
  const stateNames = Object.keys(states) as State[];
  return [
    ...head(["", ...policies.map((policy) => `\`${policy}\``)]),
    ...lineNames.map((line) =>
      row([lines[line], ...policies.map((policy) => wishTexts[wishes[line][policy]])]),
    ),
    "",
    ...head(["a provider is wanted, and it", ...caps.map((cap) => capTexts[cap])]),
    ...stateNames.map((state) => row([states[state], ...caps.map((cap) => textOf(bought[state][cap]))])),
    ...stateNames.map((state) =>
      row([`${states[state]}; nothing own can do it`, ...caps.map((cap) => textOf(boughtAlone[state][cap]))]),
    ),
  ].join("\n");
}
