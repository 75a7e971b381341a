export {
  type Cap,
  caps,
  type Line,
  lines,
  outcomeOf,
  policies,
  priceUsd,
  type State,
  states,
} from "./expected.ts";
export { moneyTable } from "./docs.ts";
