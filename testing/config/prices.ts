import { parseConfig } from "@atelier/server/platform";
import { modelsOf } from "@atelier/server/providers";

/** Prices where the model list states none, as an operator sets them: nothing is bought at an unknown price. */
export const prices = Object.fromEntries(
  modelsOf(parseConfig({})).map(({ id, offers }) => [
    id,
    Object.fromEntries(
      offers.flatMap(({ provider, priceUsd }) => (priceUsd === null ? [[provider, 0.1]] : [])),
    ),
  ]),
);
